from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ytrag_core.documents.model import Chunk
from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.extraction.offline import extract_offline

if TYPE_CHECKING:
    from pathlib import Path


def extract(text: str, title: str = "", start: int = 0) -> Extraction:
    return extract_offline(Chunk("c", "d", title, text, start, start + len(text)))


def names(extraction: Extraction) -> list[str]:
    return [mention.name for mention in extraction.entities]


def test_a_short_biography() -> None:
    extraction = extract(
        "Maria Elena Voss (born 3 March 1921) was a Danish engineer. She studied at the University of Aarhus "
        "and moved to Porto, Portugal in 1950. Voss designed the Ribeira Bridge.",
        "Maria Voss",
    )
    assert names(extraction) == ["Maria Voss", "University of Aarhus", "Porto", "Portugal", "Ribeira Bridge"]
    assert extraction.entities[0] == EntityMention("Maria Voss", "person", ("Maria Elena Voss",))
    assert set(extraction.triples) == {
        ("Maria Voss", "studied at", "University of Aarhus"),
        ("Maria Voss", "moved to", "Porto"),
        ("Maria Voss", "moved to", "Portugal"),
        ("Porto", "in", "Portugal"),
        ("Maria Voss", "designed", "Ribeira Bridge"),
    }
    assert ("Maria Voss", "born", "3 March 1921") in extraction.attributes
    assert ("Maria Voss", "in", "1950") in extraction.attributes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("However, the firm left. In Oslo it grew.", ["Oslo"]),
        ("Yesterday The Beatles met Bob Dylan's manager.", ["Beatles", "Bob Dylan"]),
        (
            "They sailed to the Isle of Man and to Trinidad and Tobago.",
            ["Isle of Man", "Trinidad and Tobago"],
        ),
        ("It was led by President Ada Holm of the U.S. Navy.", ["Ada Holm", "U.S. Navy"]),
        ("He moved from the US to the U.K. in May.", ["United States", "United Kingdom"]),
        (
            "Ludwig van Beethoven and Leonardo da Vinci never met.",
            ["Ludwig van Beethoven", "Leonardo da Vinci"],
        ),
        ("It opened with the 1996 Summer Olympics in Atlanta.", ["1996 Summer Olympics", "Atlanta"]),
        ('The song "Cold Water" was sung by Ines Aal.', ["Cold Water", "Ines Aal"]),
        ("An American and a French crew flew Apollo 11.", ["Apollo 11"]),
        ("The Ministry of Trade and Industry closed it.", ["Ministry of Trade and Industry"]),
        ("The First World War ended. World War II began.", ["World War I", "World War II"]),
        (
            "the mayor of Boston met St. Clair in Washington, D.C.",
            ["Boston", "St. Clair", "Washington, D.C."],
        ),
    ],
)
def test_names_are_those_a_reader_would_give(text: str, expected: list[str]) -> None:
    assert names(extract(text)) == expected


def test_surname_means_the_full_name_before_it() -> None:
    extraction = extract("Jonas Lindqvist founded Nordhavn Works. Lindqvist sold it to Karin Dahl.")
    assert ("Jonas Lindqvist", "sold it to", "Karin Dahl") in extraction.triples
    assert "Lindqvist" not in names(extraction)


def test_acronym_in_brackets_is_an_alias() -> None:
    extraction = extract("The Harbour Workers Union (HWU) met in Gdansk. The HWU has 3,000 members.")
    assert extraction.entities[0] == EntityMention("Harbour Workers Union", "organisation", ("HWU",))
    assert ("Harbour Workers Union", "also known as", "HWU") in extraction.triples
    assert ("Harbour Workers Union", "has", "3,000 members") in extraction.attributes


def test_title_with_a_bracket_is_known_by_its_bare_name() -> None:
    extraction = extract("Georgia borders Armenia.", "Georgia (country)")
    assert ("Georgia (country)", "borders", "Armenia") in extraction.triples
    assert extraction.entities[0].aliases == ("Georgia",)


def test_the_topic_of_a_later_chunk_is_not_forced_on_it() -> None:
    extraction = extract("Clara Bech arrived late. She met Tom Ryde.", "notes", start=5000)
    assert ("Clara Bech", "met", "Tom Ryde") in extraction.triples


def test_list_takes_one_relation() -> None:
    extraction = extract("The film stars Ann Lee, Bo Dahl and Cy Young.", "Night Train")
    assert [triple for triple in extraction.triples if triple[1] == "film stars"] == [
        ("Night Train", "film stars", "Ann Lee"),
        ("Night Train", "film stars", "Bo Dahl"),
        ("Night Train", "film stars", "Cy Young"),
    ]


def test_chinese_biography() -> None:
    extraction = extract(
        "伊莎贝尔·莫雷诺（Isabel Moreno），西班牙作家，1921年5月3日生于马德里。"
        "她毕业于北京大学，著有《海边的灯》。莫雷诺后来移居上海市。",
        "伊莎贝尔·莫雷诺",
    )
    found = {mention.name: mention.type for mention in extraction.entities}
    assert found["西班牙"] == found["马德里"] == found["上海市"] == "地点"
    assert found["北京大学"] == "组织"
    assert found["海边的灯"] == "作品"
    assert "莫雷诺" not in found
    assert ("伊莎贝尔·莫雷诺", "毕业于", "北京大学") in extraction.triples
    assert ("伊莎贝尔·莫雷诺", "后来移居", "上海市") in extraction.triples
    assert ("伊莎贝尔·莫雷诺", "作家", "1921年5月3日") in extraction.attributes


def test_chinese_lines_broken_in_a_word_are_joined() -> None:
    extraction = extract("那年冬天，王小明和李\n小红一起去了南\n京市。王小明说，李小红喜欢南京市。")
    assert {"王小明", "李小红", "南京市"} <= set(names(extraction))


def test_chinese_chain_of_places() -> None:
    assert ("武汉市", "属于", "湖北省") in extract("学校位于湖北省武汉市。", "第九中学").triples


@pytest.mark.parametrize(
    "text", ["", " \n", "...", "12 34", "🚢🚢", "a", "The", "“", "((((", "的", "·", "A" * 500]
)
def test_odd_texts(text: str) -> None:
    assert extract(text).chunk_id == "c"


CHARACTERS = "AbC dé.,;:'’\"“”()[]-–!?\n·《》「」，。王小明的北京1990"
ALPHABET = st.sampled_from([*CHARACTERS, " The ", " of ", " Dr. ", " He was "])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(ALPHABET, max_size=60).map("".join),
    st.sampled_from(["", "Title (x)", "王小明", "a", "(", "The"]),
)
def test_extractions_are_well_formed(text: str, title: str) -> None:
    extraction = extract(text, title)
    found = names(extraction)
    assert len(set(found)) == len(found)
    assert all(name == name.strip() and name for name in found)
    for head, relation, tail in (*extraction.triples, *extraction.attributes):
        assert head in found
        assert all(part.strip() for part in (relation, tail))
    assert extract(text, title) == extraction


def test_real_passages_name_what_a_language_model_named(shared_data: Path) -> None:
    folder = shared_data / "musique_train"
    with (folder / "corpus.jsonl").open() as corpus, (folder / "openie.jsonl").open() as openie:
        passages = [json.loads(line) for line in corpus][:300]
        recorded = {row["passage_id"]: row["entities"] for row in map(json.loads, openie)}
    n_named = n_found = 0
    for passage in passages:
        extraction = extract(passage["text"], passage["title"])
        found = {form.lower() for mention in extraction.entities for form in (mention.name, *mention.aliases)}
        wanted = {name.lower() for name in recorded[passage["id"]] if name[:1].isupper()}
        n_named += len(wanted)
        n_found += len(wanted & found)
    assert n_found / n_named > 0.7


def test_chinese_dictionary_loads_in_silence(tmp_path: Path) -> None:
    code = (
        "from ytrag_core.documents.segmentation import chinese_tokens, word_count\n"
        "assert [word for word, _ in chinese_tokens('我来到北京大学')] == ['我', '来到', '北京大学']\n"
        "assert word_count('北京大学') > 0 == word_count('北京大学学学')\n"
    )
    environment = {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
