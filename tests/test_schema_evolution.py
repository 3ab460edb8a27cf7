"""Proposed types enter a schema by their evidence, whoever proposes them and in whatever order."""

from __future__ import annotations

import multiprocessing
import random
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.schema_evolution import letters, many, new_store, proposal, propose, seeded, supported
from ytrag_core.config import EvolutionSettings
from ytrag_core.errors import SchemaError
from ytrag_core.schema.changes import difference
from ytrag_core.schema.evolution import TypeJudge, decisions_of, evaluate
from ytrag_core.schema.history import SchemaHistory
from ytrag_core.schema.load import load_schema, parse_schema
from ytrag_core.schema.proposals import candidates, record
from ytrag_core.schema.resemblance import relation_core
from ytrag_core.schema.review import acceptances, named, rejections
from ytrag_core.storage.meta import ChunkRow, DocumentRow, MetaStore
from ytrag_core.storage.schema_store import SchemaStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.schema.changes import Decision
    from ytrag_core.schema.evolution import Verdict
    from ytrag_core.schema.model import GraphSchema
    from ytrag_core.schema.proposals import Candidate, TypeProposal

STRANGERS = TypeJudge(letters, 0.8, "multilingual")


def judged(
    proposals: Sequence[TypeProposal],
    judge: TypeJudge,
    tmp_path: Path,
    *,
    seed: str = "general",
    settings: EvolutionSettings | None = None,
    n_documents: int = 0,
) -> dict[str, Verdict]:
    with new_store(tmp_path / "kb") as store:
        record(store, proposals)
        found = candidates(store.proposals())
    verdicts = evaluate(load_schema(seed), found, settings or EvolutionSettings(), judge, n_documents)
    return {verdict.candidate.name: verdict for verdict in verdicts}


def evolve(history: SchemaHistory, judge: TypeJudge = STRANGERS) -> list[Decision]:
    def decide(schema: GraphSchema, found: Sequence[Candidate]) -> list[Decision]:
        return decisions_of(evaluate(schema, found, EvolutionSettings(mode="auto"), judge, 0))

    return history.evolve(decide, who="auto", why="passed")


def accept(history: SchemaHistory, *names: str, target: str | None = None) -> list[Decision]:
    return history.accept(
        lambda schema, found: acceptances(schema, named(found, names, None), target=target),
        who="ann",
        why="",
    )


def test_a_repetition_is_no_new_support(tmp_path: Path) -> None:
    with new_store(tmp_path / "kb") as store:
        assert record(store, [proposal("ritual", 1), proposal("Ritual", 1), proposal("ritual", 2)]) == 2
        assert record(store, [proposal("ritual", 1, confidence=0.5)]) == 0
        (found,) = candidates(store.proposals())
    assert (found.n_chunks, found.n_documents, found.confidence) == (2, 2, 0.9)


def test_of_two_proposals_by_one_passage_the_surer_stays_whichever_came_first(tmp_path: Path) -> None:
    said = [
        proposal("ritual", 1, confidence=0.5, description="A rite."),
        proposal("Ritual", 1, confidence=0.8, description="A solemn act."),
    ]
    rows = []
    for name, order in (("one", said), ("two", said[::-1])):
        with new_store(tmp_path / name) as store:
            for each in order:
                record(store, [each])
            rows.append(store.proposals())
    assert rows[0] == rows[1]
    assert rows[0][0].description == "A solemn act."


def test_a_candidate_sums_up_its_passages() -> None:
    said = [
        proposal("ritual", 1, confidence=0.6, description="A rite."),
        proposal("Ritual", 2, confidence=0.8, description="A rite."),
        proposal("Ritual", 3, document="d2", confidence=1.0, description="A custom."),
    ]
    rows = [_row(each) for each in said]
    (found,) = candidates(rows)
    assert (found.name, found.description) == ("Ritual", "A rite.")
    assert (found.n_chunks, found.n_documents) == (3, 2)
    assert found.confidence == pytest.approx(0.8)
    assert [one.document_id for one in found.evidence] == ["d2", "d1", "d2"]
    assert candidates(rows[::-1]) == [found]


@pytest.mark.parametrize(
    ("name", "confidence", "kind", "complaint"),
    [
        ("", 0.5, "entity", "1 to 100 was wanted"),
        ("  _ ", 0.5, "entity", "1 to 100"),
        ("x" * 101, 0.5, "entity", r"101 characters"),
        ("ritual", 1.5, "entity", "confidence 1.5; 0 to 1"),
        ("ritual", float("nan"), "entity", "confidence nan"),
        ("ritual", 0.5, "thing", "choose from entity, relation, attribute"),
    ],
)
def test_a_senseless_proposal_is_refused(name: str, confidence: float, kind: str, complaint: str) -> None:
    with pytest.raises(SchemaError, match=complaint):
        proposal(name, 1, kind=kind, confidence=confidence)  # type: ignore[arg-type]


def test_text_that_cannot_be_stored_is_made_storable(tmp_path: Path) -> None:
    with new_store(tmp_path / "kb") as store:
        record(store, [proposal("ritual\udc80", 1, evidence="a\nb\udc80" + "x" * 1000)])
        (row,) = store.proposals()
    assert row.name == "ritual?"
    assert row.evidence.startswith("a b?x")
    assert len(row.evidence) == 500


def test_thresholds_each_hold_a_type_back(tmp_path: Path) -> None:
    said = [
        *supported("ritual"),
        *supported("calendar", n=2),
        *(proposal("guild law", i, document="d1") for i in range(3)),
        *(proposal("omen", i, confidence=0.6) for i in range(5)),
    ]
    verdicts = judged(said, STRANGERS, tmp_path)
    assert {name: verdict.outcome for name, verdict in verdicts.items()} == {
        "ritual": "add", "calendar": "wait", "guild law": "wait", "omen": "wait",
    }  # fmt: skip
    assert verdicts["calendar"].reason == "2 of 3 passages"
    assert verdicts["guild law"].reason == "1 of 2 documents"
    assert verdicts["omen"].reason == "confidence 0.60 of 0.70"


def test_a_knowledge_base_of_one_document_needs_one(tmp_path: Path) -> None:
    said = [proposal("ritual", i, document="d1") for i in range(3)]
    assert judged(said, STRANGERS, tmp_path, n_documents=1)["ritual"].outcome == "add"


@pytest.mark.parametrize(
    ("name", "description", "outcome", "nearest"),
    [
        ("human", "A man, woman or child.", "ask", "person"),
        ("Organization", "", "alias", "organisation"),
        ("persons", "", "alias", "person"),
        ("natural-feature", "", "alias", "natural feature"),
        ("disease", "An illness with a known cause.", "add", None),
        (
            "folk",
            "People taken together without a formal organisation: a family, a people, a crew.",
            "ask",
            "group",
        ),
        ("chess opening", "How a game of chess begins.", "add", None),
    ],
)
def test_english_types_are_told_apart(
    encoder: Encoder, tmp_path: Path, name: str, description: str, outcome: str, nearest: str | None
) -> None:
    judge = TypeJudge(encoder.encode, encoder.description.alias_similarity, encoder.description.language)
    verdict = judged(supported(name, description=description), judge, tmp_path)[name]
    assert verdict.outcome == outcome
    assert nearest in (None, verdict.nearest)


def test_company_is_not_added_beside_corporation(encoder: Encoder, tmp_path: Path) -> None:
    judge = TypeJudge(encoder.encode, encoder.description.alias_similarity, encoder.description.language)
    said = [
        *supported("Corporation", n=5, description="A firm owned by shareholders that trades for profit."),
        *supported("Company", n=4, description="A business that sells goods or services."),
        *supported("court", n=4, description="A body that decides legal disputes."),
        *supported("judge", n=3, description="A person who presides over trials."),
    ]
    with new_store(tmp_path / "kb") as store:
        history = seeded(store)
        record(store, said)
        evolve(history, judge)
        schema = history.in_force()
        left = [candidate.name for candidate in history.pending()]
    assert schema is not None
    corporation = schema.entity_type("company")
    assert corporation is not None
    assert (corporation.name, corporation.aliases) == ("Corporation", ("Company",))
    assert schema.canonical("entity", "COMPANY") == "Corporation"
    assert schema.entity_type("court") is not None
    assert left == ["judge"], "too close to court to be added, too far to be mapped: a person has to say"


def test_opposite_attributes_stay_apart(encoder: Encoder, tmp_path: Path) -> None:
    judge = TypeJudge(encoder.encode, 0.3, "en")
    said = supported("opening date", kind="attribute") + supported("closing date", n=4, kind="attribute")
    empty = parse_schema('{"entity_types": [{"name": "shop"}]}', name="x", where="x")
    with new_store(tmp_path / "kb") as store:
        record(store, said)
        verdicts = evaluate(empty, candidates(store.proposals()), EvolutionSettings(), judge, 0)
    assert [verdict.outcome for verdict in verdicts] == ["add", "add"]


def test_a_relation_is_never_mapped_by_its_vector_alone(encoder: Encoder, tmp_path: Path) -> None:
    judge = TypeJudge(encoder.encode, encoder.description.alias_similarity, encoder.description.language)
    said = [
        *supported("was born in", kind="relation"),
        *supported("parent of", kind="relation"),
        *supported("owned by", kind="relation"),
        *supported("orbits", kind="relation"),
    ]
    verdicts = judged(said, judge, tmp_path)
    assert (verdicts["was born in"].outcome, verdicts["was born in"].nearest) == ("alias", "born in")
    assert verdicts["parent of"].outcome == "ask"
    assert verdicts["owned by"].outcome == "ask"
    assert verdicts["orbits"].outcome == "add"
    landed = supported("landed on", kind="relation", description="The head came down on the tail.")
    assert judged(landed, judge, tmp_path / "more")["landed on"].outcome == "add"


def test_an_encoder_judges_no_language_that_it_cannot_read(encoder: Encoder, tmp_path: Path) -> None:
    judge = TypeJudge(encoder.encode, encoder.description.alias_similarity, encoder.description.language)
    verdicts = judged(supported("法院") + supported("人物"), judge, tmp_path, seed="general_zh")
    assert verdicts["法院"].outcome == "ask"
    assert "人物" not in verdicts or verdicts["人物"].outcome == "alias"


def test_relation_words_that_say_nothing_are_dropped() -> None:
    assert relation_core("Was_a member of") == "member of"
    assert relation_core("is") == "is"
    assert relation_core("曾任职于") == "任职于"
    assert relation_core("创作了") == "创作"


@pytest.mark.slow
def test_eight_processes_end_in_the_same_schema_as_one(tmp_path: Path) -> None:
    said = many()
    with new_store(tmp_path / "alone") as store:
        alone = seeded(store)
        propose(str(tmp_path / "alone"), said)
        evolve(alone)
        expected, rows = alone.in_force(), store.proposals()
    assert expected is not None
    assert len(expected.entity_types) > 100

    shuffled = random.Random(7).sample(said + said[::3], len(said) + len(said[::3]))
    shares = [shuffled[start::8] for start in range(8)]
    root = tmp_path / "together"
    with new_store(root) as store:
        together = seeded(store)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(8, mp_context=context) as pool:
            n_new = sum(pool.map(propose, [str(root)] * 8, shares))
        assert n_new == len(said) == len(rows)
        assert store.proposals() == rows
        evolve(together)
        found = together.in_force()
    assert found == expected
    assert found is not None
    assert found.version == expected.version


@pytest.mark.slow
def test_processes_may_propose_before_and_while_a_build_writes(tmp_path: Path) -> None:
    root = tmp_path / "kb"
    new_store(root).close()
    shares = [many(60)[start::4] for start in range(4)]
    context = multiprocessing.get_context("spawn")
    with MetaStore(root / "meta.sqlite") as meta, ProcessPoolExecutor(4, mp_context=context) as pool:
        done = [pool.submit(propose, str(root), share) for share in shares]
        for i in range(20):
            meta.put_documents([DocumentRow(f"x{i}", "x", "", "text", "0")])
        assert sum(each.result() for each in done) == len(many(60))
        assert meta.n_documents() == 20


def test_passages_that_are_gone_support_nothing(tmp_path: Path) -> None:
    root = tmp_path / "kb"
    new_store(root).close()
    with MetaStore(root / "meta.sqlite") as meta:
        meta.put_documents([DocumentRow("d1", "d1", "", "one two", "0")])
        meta.put_chunks([ChunkRow("c1", "d1", 0, "", "one", 0, 3, "0")])
        record(meta, [proposal("ritual", 1), proposal("ritual", 2, document="d1"), proposal("omen", 9)])
        rows = SchemaStore(meta.database).proposals()
    assert [(row.key, row.chunk_id) for row in rows] == [("omen", "c9"), ("ritual", "c1")]


def test_a_store_of_before_has_no_proposals_and_no_history(tmp_path: Path) -> None:
    new_store(tmp_path / "kb").close()
    with SchemaStore.open(tmp_path / "kb", writable=False) as store:
        history = SchemaHistory(store)
        assert (store.proposals(), history.changes(), history.in_force()) == ([], [], None)
        with pytest.raises(SchemaError, match="never changed"):
            history.schema_at(1)


def test_evolving_twice_changes_nothing_more(tmp_path: Path) -> None:
    with new_store(tmp_path / "kb") as store:
        history = seeded(store)
        record(store, supported("ritual"))
        assert [decision.name for decision in evolve(history)] == ["ritual"]
        assert evolve(history) == []
        changes = history.changes()
    assert [(change.number, change.action, change.who) for change in changes] == [
        (1, "seed", "tester"), (2, "evolve", "auto"),
    ]  # fmt: skip
    (decision,) = changes[1].decisions
    assert (decision["outcome"], decision["name"], decision["n_documents"]) == ("add", "ritual", 3)
    assert decision["evidence"][0]["text"].startswith("ritual in ")
    assert changes[1].at.endswith("+00:00")


def test_a_rollback_is_a_new_version_and_keeps_its_types_out(tmp_path: Path) -> None:
    with new_store(tmp_path / "kb") as store:
        history = seeded(store)
        record(store, [*supported("ritual"), *supported("omen")])
        evolve(history)
        grown = history.in_force()
        gone = history.rollback(1, who="ann", why="too many")
        assert {decision.name for decision in gone} == {"ritual", "omen"}
        assert history.in_force() == load_schema("general")
        assert [change.action for change in history.changes()] == ["seed", "evolve", "rollback"]
        assert evolve(history) == [], "what went with a rollback does not come back by itself"
        assert {candidate.name for candidate in history.rejected()} == {"ritual", "omen"}
        assert history.schema_at(2) == grown
        accept(history, "omen")
        assert [change.number for change in history.changes()] == [1, 2, 3, 4]
        schema = history.in_force()
        assert schema is not None
        assert (schema.entity_type("omen") is None, schema.entity_type("ritual") is None) == (False, True)
        with pytest.raises(SchemaError, match="no version 9"):
            history.rollback(9, who="ann", why="")
        with pytest.raises(SchemaError, match="is in force"):
            history.rollback(4, who="ann", why="")


def test_a_rejected_type_stays_out(tmp_path: Path) -> None:
    with new_store(tmp_path / "kb") as store:
        history = seeded(store)
        record(store, supported("ritual"))
        history.reject(lambda _, found: rejections(named(found, ["Ritual"], None)), who="ann", why="vague")
        assert evolve(history) == []
        assert history.pending() == []
        assert history.changes()[-1].why == "vague"
        assert history.in_force() == load_schema("general")


def test_accepting_as_another_name(tmp_path: Path) -> None:
    with new_store(tmp_path / "kb") as store:
        history = seeded(store)
        record(store, [proposal("Firm", 1), proposal("firm", 2, kind="attribute"), proposal("omen", 3)])
        with pytest.raises(SchemaError, match="--kind"):
            accept(history, "firm", target="organisation")
        with pytest.raises(SchemaError, match="did you mean omen"):
            accept(history, "omens")
        with pytest.raises(SchemaError, match="'guildd' is no entity type"):
            accept(history, "omen", target="guildd")
        history.accept(
            lambda schema, found: acceptances(
                schema, named(found, ["firm"], "entity"), target="Organisation"
            ),
            who="ann",
            why="",
        )
        schema = history.in_force()
        assert schema is not None
        assert schema.canonical("entity", "FIRM") == "organisation"
        assert [each.name for each in difference(load_schema("general"), schema)] == ["organisation"]
        with pytest.raises(SchemaError, match="is there already, as 'organisation'"):
            history.accept(
                lambda schema, found: acceptances(schema, named(found, ["firm"], "entity")), who="ann", why=""
            )


def test_the_same_seed_again_undoes_nothing_another_does(tmp_path: Path) -> None:
    with new_store(tmp_path / "kb") as store:
        history = seeded(store)
        record(store, supported("ritual"))
        evolve(history)
        grown = history.in_force()
        assert history.set_seed(load_schema("general"), who="user", why="") == grown
        assert len(history.changes()) == 2
        chinese = load_schema("general_zh")
        assert history.set_seed(chinese, who="user", why="") == chinese == history.in_force()


def test_a_change_that_another_overtook_is_worked_out_anew(tmp_path: Path) -> None:
    with new_store(tmp_path / "kb") as store, SchemaStore.open(tmp_path / "kb") as other:
        history, rival = seeded(store), SchemaHistory(other)
        record(store, [*supported("ritual"), *supported("omen")])
        overtaken: list[int] = []

        def decide(schema: GraphSchema, found: Sequence[Candidate]) -> list[Decision]:
            if not overtaken:
                overtaken.append(1)
                accept(rival, "omen")
            return decisions_of(evaluate(schema, found, EvolutionSettings(), STRANGERS, 0))

        made = history.evolve(decide, who="auto", why="")
        assert [decision.name for decision in made] == ["ritual"]
        assert [change.action for change in history.changes()] == ["seed", "accept", "evolve"]


def _row(each: TypeProposal):  # type: ignore[no-untyped-def]
    from ytrag_core.schema.model import type_key
    from ytrag_core.storage.schema_store import ProposalRow

    return ProposalRow(
        each.kind,
        type_key(each.name),
        each.document_id,
        each.chunk_id,
        each.confidence,
        each.name,
        each.description,
        each.evidence,
    )
