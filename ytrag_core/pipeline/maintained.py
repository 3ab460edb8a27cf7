"""Checking and repairing a knowledge base, as methods of `KnowledgeBase`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ytrag_core.pipeline.report import StageRecorder, no_progress

if TYPE_CHECKING:
    from ytrag_core.embedding.choice import WantedPrecision
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.repair_report import RepairReport
    from ytrag_core.pipeline.report import Progress
    from ytrag_core.storage.checking import BaseState

__all__ = ["Maintained"]


class Maintained:
    """What is done to a knowledge base that need not be whole: none of it opens one for questions."""

    @staticmethod
    def verify(path: str | Path, *, progress: Progress = no_progress) -> BaseState:
        """Read every file of the knowledge base at `path`, and compare; nothing is changed.

        Parameters
        ----------
        path
            The knowledge base's directory.
        progress
            Told how many bytes were read.

        Returns
        -------
        BaseState
            Every file and its state; `wrong` are those to repair.

        Raises
        ------
        SnapshotError
            There is no knowledge base, or it was written by a later version.
        """
        from ytrag_core.pipeline.checked import check_all

        return check_all(Path(path), lambda done, total: progress("verify", done, total))

    @staticmethod
    def repair(
        path: str | Path,
        *,
        encoder: Encoder | str | Path | None = None,
        precision: WantedPrecision = "auto",
        encoder_place: Path | None = None,
        source: str | Path | None = None,
        progress: Progress = no_progress,
    ) -> RepairReport:
        """Make a damaged knowledge base whole; see `ytrag_core.pipeline.repair.repair`.

        Parameters
        ----------
        path
            The knowledge base's directory.
        encoder, precision, encoder_place
            As for `KnowledgeBase.build`; the encoder is loaded only where something has to be encoded.
        source
            The folder that an imported graph came from, where it lies elsewhere by now.
        progress
            Told of each stage.

        Raises
        ------
        LockedError
            Another process is writing.
        SnapshotError
            There is no knowledge base, it cannot be written, or nothing of it is left.
        ModelError
            The encoder is needed and cannot be had.
        """
        from ytrag_core.embedding.choice import loaded_encoder
        from ytrag_core.pipeline.repair import repair

        root = Path(path)
        return repair(
            root,
            lambda: loaded_encoder(encoder, precision, root, encoder_place, progress),
            StageRecorder(progress),
            None if source is None else Path(source),
        )
