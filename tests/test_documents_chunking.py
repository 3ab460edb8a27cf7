from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from ytrag_core.documents.chunking import chunk_document, whole_chunk
from ytrag_core.documents.model import Chunk, Document, Heading
from ytrag_core.documents.read import read_documents
from ytrag_core.documents.sentences import split_sentences

if TYPE_CHECKING:
    from pathlib import Path


def word_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    return tokenizer


WORDS = word_tokenizer()


def count(text: str) -> int:
    tokenizer = word_tokenizer()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return len(tokenizer.encode(text).ids)


def document(text: str, *, has_record_id: bool = False, name: str = "doc") -> Document:
    return Document(name, "Title", text, name, has_record_id=has_record_id)


def assert_covers(text: str, chunks: list[Chunk]) -> None:
    at = 0
    for chunk in chunks:
        assert text[at : chunk.start].strip() == ""
        assert text[chunk.start : chunk.end] == chunk.text == chunk.text.strip() != ""
        at = chunk.end
    assert text[at:].strip() == ""
    assert len({chunk.id for chunk in chunks}) == len(chunks)


def test_short_document_is_one_chunk() -> None:
    (chunk,) = chunk_document(document("  A short text. \n"), WORDS)
    assert (chunk.text, chunk.start, chunk.end, chunk.title) == ("A short text.", 2, 15, "Title")


@pytest.mark.parametrize("text", ["", " \n \u3000\n"])
def test_blank_document_has_no_chunk(text: str) -> None:
    assert chunk_document(document(text), WORDS) == []


def test_ids_of_records() -> None:
    text = " ".join(f"Sentence number {n} stands here." for n in range(20))
    many = chunk_document(document(text, has_record_id=True, name="rec"), WORDS, max_tokens=20)
    assert [chunk.id for chunk in many] == [f"rec#{n}" for n in range(len(many))]
    (one,) = chunk_document(document("Short.", has_record_id=True, name="rec"), WORDS)
    assert one.id == "rec"
    assert whole_chunk(document(text, has_record_id=True, name="rec")).text == text


def test_ids_of_files_are_stable_and_unique() -> None:
    text = "\n\n".join(["The same passage again and again, word for word."] * 6)
    chunks = chunk_document(document(text), WORDS, max_tokens=12)
    assert len({chunk.text for chunk in chunks}) == 1
    assert len({chunk.id for chunk in chunks}) == len(chunks) == 6
    opening = "A new opening of some twelve words stands here now, you see.\n\n"
    moved = chunk_document(document(opening + text), WORDS, max_tokens=14)
    assert chunks[0].id in {chunk.id for chunk in moved}
    other = chunk_document(document(text, name="other"), WORDS, max_tokens=12)
    assert not {chunk.id for chunk in chunks} & {chunk.id for chunk in other}


def test_cuts_at_paragraphs_before_sentences() -> None:
    first = "One two three four five. Six seven eight nine ten."
    second = "Eleven twelve thirteen. Fourteen fifteen sixteen seventeen."
    chunks = chunk_document(document(f"{first}\n\n{second}"), WORDS, max_tokens=16)
    assert [chunk.text for chunk in chunks] == [first, second]


def test_heading_stays_with_its_section() -> None:
    before = "One two three four five six seven eight nine ten."
    text = f"{before}\n\n## Next\n\nEleven twelve thirteen fourteen fifteen."
    chunks = chunk_document(document(text), WORDS, max_tokens=16)
    assert [chunk.text for chunk in chunks] == [before, "## Next\n\nEleven twelve thirteen fourteen fifteen."]


def test_chinese_is_cut_at_its_full_stops() -> None:
    text = "城北有一座老桥。桥下的河水很急！谁修了这座桥？没有人记得；大家只知道它很老。" * 4
    chunks = chunk_document(document(text), WORDS, max_tokens=24)
    assert_covers(text, chunks)
    assert all(chunk.text[-1] in "。！？；" for chunk in chunks)
    assert all(count(chunk.text) <= 24 for chunk in chunks)


def test_text_without_any_border_is_still_cut() -> None:
    text = "x" * 5000
    chunks = chunk_document(document(text), WORDS, max_tokens=16)
    assert_covers(text, chunks)
    assert max(len(chunk.text) for chunk in chunks) <= 16 * 8


def test_emoji_sequences_are_not_torn() -> None:
    family = "👩\u200d👩\u200d👧"
    text = family * 200
    chunks = chunk_document(document(text), WORDS, max_tokens=16)
    assert_covers(text, chunks)
    assert not any(chunk.text.startswith("\u200d") or chunk.text.endswith("\u200d") for chunk in chunks)


PIECES = st.sampled_from(["word ", "Longer sentence. ", "\n\n", "中文。", "# Head\n", "a,b; ", "\t", "é🚢 "])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(["word ", "Longer sentence. ", "\n\n", "中文。", "# Head\n", "a,b; ", "\t", "é🚢 "])
    ).map("".join),
    st.integers(8, 40),
)
def test_every_character_is_in_one_passage(text: str, max_tokens: int) -> None:
    chunks = chunk_document(document(text), WORDS, max_tokens=max_tokens)
    assert_covers(text, chunks)
    assert all(count(chunk.text) <= max_tokens for chunk in chunks)


def test_large_text_is_cut_block_by_block() -> None:
    text = "\n\n".join(f"Paragraph {n} tells a little more of the long story." for n in range(9000))
    chunks = chunk_document(document(text), WORDS, max_tokens=60)
    assert_covers(text, chunks)
    assert all(chunk.text.startswith("Paragraph") and chunk.text.endswith("story.") for chunk in chunks)


def test_real_documents_keep_every_word(shared_data: Path) -> None:
    for path in [
        shared_data / "docs/en/alice_in_wonderland.txt",
        shared_data / "docs/zh/labor_contract_law.md",
    ]:
        (read,) = [outcome for outcome in read_documents([path]) if isinstance(outcome, Document)]
        chunks = chunk_document(read, WORDS, max_tokens=240)
        assert_covers(read.text, chunks)
        assert all(count(chunk.text) <= 240 for chunk in chunks)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("He left. She stayed.", ["He left.", "She stayed."]),
        ("Dr. Smith met J. R. R. Tolkien at 3.14 p.m. in St. Ives.",
         ["Dr. Smith met J. R. R. Tolkien at 3.14 p.m. in St. Ives."]),
        ("It moved to the U.S. The firm grew.", ["It moved to the U.S.", "The firm grew."]),
        ("The U.S. Army came.", ["The U.S. Army came."]),
        ("Acme Inc. was sold (see p. 5). Why? \"No!\" he said.",
         ["Acme Inc. was sold (see p. 5).", "Why?", "\"No!\" he said."]),
        ("He said “Go.” Then he went.", ["He said “Go.”", "Then he went."]),
        ("Title\n\nFirst line\ngoes on. - no item\n- item one\n- item two",
         ["Title", "First line\ngoes on.", "- no item", "- item one", "- item two"]),
        ("他说：“来吧！”我去了。你呢？好；走。", ["他说：“来吧！”", "我去了。", "你呢？", "好；", "走。"]),
        ("", []),
    ],
)  # fmt: skip
def test_sentences(text: str, sentences: list[str]) -> None:
    spans = split_sentences(text)
    assert [text[start:end] for start, end in spans] == sentences


def test_headings_of_the_document_are_borders_and_breadcrumbs() -> None:
    before = "One two three four five six seven eight nine ten."
    after = "Eleven twelve thirteen fourteen fifteen sixteen seventeen."
    text = f"Top\n{before}\nNext Thing\n{after}\nLast Thing\n{before}"
    headings = (
        Heading(0, 1, "Top"),
        Heading(text.index("Next"), 2, "Next Thing"),
        Heading(text.index("Last"), 2, "Last Thing"),
    )
    pages = (0, text.index("Next") + 5, text.index("Last"))
    whole = Document("d", "T", text, "d", headings=headings, pages=pages)
    chunks = chunk_document(whole, WORDS, max_tokens=16)
    assert_covers(text, chunks)
    assert [(chunk.text.split("\n")[0], chunk.heading, chunk.page) for chunk in chunks] == [
        ("Top", "Top", 1),
        ("Next Thing", "Top > Next Thing", 1),
        ("Last Thing", "Top > Last Thing", 3),
    ]


def test_progress_tells_how_far_a_text_is_cut() -> None:
    text = "\n\n".join(f"Paragraph {n} tells a little more of the long story." for n in range(9000))
    seen: list[tuple[int, int]] = []
    chunk_document(document(text), WORDS, progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 2
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (len(text), len(text))


def test_chapters_of_plain_text_are_headings(tmp_path: Path) -> None:
    path = tmp_path / "novel.txt"
    path.write_text(
        "序\n\n  第一回 桃园结义\n文。\nCHAPTER II. The Sea\ntext\nPart 3\n第二节 其他，不是标题\n",
        encoding="utf-8",
    )
    (read,) = read_documents([path])
    assert isinstance(read, Document)
    assert [(heading.level, heading.text) for heading in read.headings] == [
        (2, "第一回 桃园结义"), (2, "CHAPTER II. The Sea"), (1, "Part 3")
    ]  # fmt: skip
    assert all(read.text.startswith(heading.text, heading.start) for heading in read.headings)


def test_headings_of_markdown(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    text = "---\ntitle: T\n# no: heading\n---\n# A *b*\n\n```\n# code\n```\n\nC\n---\n\n#### D ####\n"
    text += "\n| a |\n|---|\n"
    path.write_text(text, encoding="utf-8")
    (read,) = read_documents([path])
    assert isinstance(read, Document)
    assert [(heading.level, heading.text) for heading in read.headings] == [(1, "A b"), (2, "C"), (4, "D")]


@given(
    st.lists(PIECES, max_size=80).map("".join),
    st.integers(8, 40).flatmap(lambda most: st.tuples(st.just(most), st.integers(0, most // 2))),
)
@settings(max_examples=200)
def test_overlapping_passages_lose_nothing_and_repeat_whole_sentences(
    text: str, sizes: tuple[int, int]
) -> None:
    max_tokens, overlap = sizes
    chunks = chunk_document(document(text), WORDS, max_tokens=max_tokens, overlap=overlap)
    reached = 0
    for at, chunk in enumerate(chunks):
        assert text[chunk.start : chunk.end] == chunk.text == chunk.text.strip() != ""
        assert text[reached : max(reached, chunk.start)].strip() == ""
        assert chunk.end > reached
        assert count(chunk.text) <= max_tokens
        if at:
            assert chunk.start > chunks[at - 1].start
            assert count(text[chunk.start : reached]) <= overlap
        reached = chunk.end
    assert text[reached:].strip() == ""
    assert len({chunk.id for chunk in chunks}) == len(chunks)


def test_overlap_begins_at_a_sentence_in_english_and_chinese() -> None:
    english = " ".join(f"Sentence number {n} stands here." for n in range(12))
    chinese = "".join(f"桥下第{n}条河水很急。" for n in range(40))
    for text, opening in ((english, "Sentence"), (chinese, "桥下")):
        chunks = chunk_document(document(text), WORDS, max_tokens=24, overlap=12)
        assert len(chunks) > 2
        for before, after in pairwise(chunks):
            assert after.text.startswith(opening)
            shared = text[after.start : before.end]
            assert shared
            assert before.text.endswith(shared)
            assert after.text.startswith(shared)


def test_nothing_is_repeated_across_a_heading() -> None:
    text = "# One\n\nFirst here. Second here.\n\n# Two\n\nThird here. Fourth here."
    chunks = chunk_document(document(text), WORDS, max_tokens=12, overlap=6)
    second = next(chunk for chunk in chunks if "Two" in chunk.text)
    assert second.text.startswith("# Two")


def test_an_overlap_of_more_than_half_is_refused() -> None:
    with pytest.raises(ValueError, match="overlap is 9"):
        chunk_document(document("a"), WORDS, max_tokens=16, overlap=9)
