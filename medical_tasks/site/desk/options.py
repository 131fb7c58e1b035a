"""What `medical-tasks site review` takes besides the folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from medical_tasks.options import Option, WithAttestation

PORT: Final = 7861


@dataclass(frozen=True, kw_only=True)
class WithDesk(WithAttestation, heading="review"):
    """How the review desk is opened, and which files it imports or exports instead."""

    sheet: Annotated[
        str | None, Option("only this sheet (default: all there are)", metavar="NAME")
    ] = None
    open: Annotated[
        Path | None,
        Option(
            "without a site: the sheet of adjudicate, or the folder of construct ehrnoteqa, "
            "medcalc, archehr or answer-sheet",
            metavar="PATH",
        ),
    ] = None
    reviewers: Annotated[
        str | None,
        Option("of an adjudicate sheet (default: reviewer)", metavar="NAME,..."),
    ] = None
    adjudicator: Annotated[
        str | None,
        Option("with --open: who decides where reviewers differ", metavar="NAME"),
    ] = None
    overlap: Annotated[
        int | None,
        Option(
            "of an adjudicate sheet: items that all label (default: all)", metavar="N"
        ),
    ] = None
    port: Annotated[
        int, Option(f"of the desk (default {PORT}; 0: any that is free)", metavar="N")
    ] = PORT
    host: Annotated[
        str,
        Option("address of this machine (default 127.0.0.1: only here)", metavar="H"),
    ] = "127.0.0.1"
    tls_cert: Annotated[
        Path | None, Option("serve https with this certificate", metavar="FILE")
    ] = None
    tls_key: Annotated[Path | None, Option("and its key", metavar="FILE")] = None
    renew: Annotated[
        bool, Option("draw new addresses for everybody; the old ones end")
    ] = False
    export: Annotated[
        Path | None,
        Option("write the labels there and open nothing", metavar="PATH"),
    ] = None
    # The command line's word is a keyword in Python.
    labels_from: Annotated[
        tuple[Path, ...],
        Option(
            "add the labels of a CSV file that --export wrote, and open nothing",
            metavar="FILE.csv",
            name="--import",
        ),
    ] = ()
