"""``kernlens advise --prove REC``: what advice can edit itself, run on a launch that a recording keeps, and compiled."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from kernlens.analysis.advice.rules import RULES
from kernlens.analysis.trial_code import code_of_trial
from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError, NotFoundError, ToolError, UnsupportedError
from kernlens.model.advice import EQUAL, ULP, WITHIN_ULP, Advice, AdvisedKernel, Edit
from kernlens.model.trial import Change, Trial
from kernlens.runtime.opencl.error_codes import OpenCLError
from kernlens.toolchain.foreign_text import foreign_text
from kernlens.toolchain.parallel_compiles import CompileJob
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.sources.includes import join_options, split_options
from kernlens.toolchain.sources.recorded_sources import written_sources
from kernlens.toolchain.toolchains import toolchain
from kernlens.verbs.replay.kept import RecordedLaunch, none_kept, open_recording, recorded_launches
from kernlens.verbs.replay.program_of_launch import OtherBuild
from kernlens.verbs.replay.replay import RUNS, Settings, replaying
from kernlens.verbs.replay.replayed import Replayed
from kernlens.verbs.tried import Codes, codes_of

_TITLES = {rule.key: rule.title for rule in RULES}


@dataclass(frozen=True, slots=True)
class Proof:
    """A piece of advice that was followed by its ``edit``. ``becomes`` are the lines with it, or the build option.

    ``replayed`` is the launch with the build as it was recorded and with the edit, None if that could not run, and
    ``reason`` says why. ``trial`` has the kernel's figures with and without the edit, for the device that the advice is for.
    """

    kernel: AdvisedKernel
    advice: Advice
    becomes: str
    trial: Trial
    replayed: Replayed | None = None
    reason: str = ""

    @property
    def is_equal(self) -> bool | None:
        """True if the launch leaves the same with the edit; None if that is not known, as nothing was compared, or the build
        without the edit leaves something else than the recorded launch too."""
        if self.replayed is None or self.replayed.is_simulated or len(self.replayed.builds) != 2:
            return None
        before, after = self.replayed.builds
        return None if before.differing or not after.compared else not after.differing

    @property
    def is_kept(self) -> bool | None:
        """True if what the advice promises of results holds for this launch; None if ``is_equal`` is."""
        if self.is_equal is not False or self.replayed is None:
            return self.is_equal
        ulps = [each.difference.ulp for each in self.replayed.builds[1].differing if each.difference is not None]
        within = all(ulp is not None and ulp <= ULP for ulp in ulps)
        return {EQUAL: False, WITHIN_ULP: within}.get(self.advice.results, True)


def proofs(
    kernels: Sequence[AdvisedKernel],
    recording: str | os.PathLike[str],
    *,
    unconfined: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[Proof]:
    """Follow the advice on kernels where that takes no person, each piece alone, on the first launch of the kernel that a
    recording keeps, in turn with the recorded build; and compile it as the kernel was compiled.

    The device of the launch is that of ``replay``. Raises KernlensError: NotFoundError if the recording keeps no launch of any
    of these kernels, and what opening it raises.
    """
    every = [(each, piece, piece.edit) for each in kernels for piece in each.advice if piece.edit is not None]
    # A build option is of the whole kernel: it is followed once.
    pieces = {(id(each), edit if edit.replaced else edit.options): (each, piece, edit) for each, piece, edit in every}
    answers = []
    with open_recording(recording) as opened:
        launches: dict[str, list[RecordedLaunch]] = {}
        for launch in recorded_launches(opened):
            launches.setdefault(launch.launch.kernel, []).append(launch)
        if not launches:
            raise NotFoundError(none_kept(os.fspath(recording)))
        if not any(each.kernel.name in launches for each in kernels):
            names = ", ".join([*launches][:20])
            raise NotFoundError(
                f"{recording} keeps no launch of a kernel that the advice is on; it keeps some of {names}"
            )
        with replaying(Settings(unconfined=unconfined), []) as run:
            for count, (each, piece, edit) in enumerate(pieces.values(), 1):
                answers.append(_proof(each, piece, edit, launches.get(each.kernel.name, ()), run))
                if on_progress is not None:
                    on_progress(count, len(pieces))
    return answers


def _proof(
    each: AdvisedKernel,
    piece: Advice,
    edit: Edit,
    launches: Sequence[RecordedLaunch],
    run: Callable[[RecordedLaunch, Settings], Replayed],
) -> Proof:
    text = "\n".join(each.program.source_lines.get(piece.path or "", ()))
    edited = edit.of(text)
    pairs = zip(text.split("\n"), edited.split("\n"), strict=True)
    becomes = " ".join(new.strip() for old, new in pairs if new != old) if edit.replaced else edit.options
    proof = Proof(each, piece, becomes, trial_of(each, piece, edit, text))
    of_text = [launch for launch in launches if launch.build.sources and launch.build.sources[0].text == text]
    if not of_text:
        why = "its source is not the one that the kept launch was built from" if launches else "no launch of it is kept"
        return replace(proof, reason=why)
    recorded = of_text[0]
    options = join_options([*split_options(recorded.build.options or ""), *split_options(edit.options)])
    other = OtherBuild(text=edited if edit.replaced else None, options=options)
    try:
        return replace(proof, replayed=run(recorded, Settings(runs=RUNS, other=other)))
    except (OpenCLError, ToolError, UnsupportedError) as error:
        return replace(proof, reason=str(error))


def trial_of(each: AdvisedKernel, piece: Advice, edit: Edit, text: str) -> Trial:
    """Return the figures of a kernel with an edit of this text beside those without it."""
    build = each.program.build
    change = Change(piece.rule, _TITLES[piece.rule], edit.options, results=piece.results)
    before, codes = code_of_trial(each.kernel), Codes({})
    try:
        using = toolchain(build.toolchain.name if build.toolchain else "-")
        if edit.replaced and not any(source.text == text for source in build.sources):
            raise UnsupportedError("the text of its source was found elsewhere than in its build")
        sources = [
            replace(source, text=edit.of(text)) if source.text == text and edit.replaced else source
            for source in build.sources
        ]
        options = join_options([*split_options(build.options or ""), *split_options(edit.options)])
        with temporary_folder() as folder, foreign_text([folder]):
            path, words = written_sources(sources, options, Path(folder))
            codes = codes_of(CompileJob(path, build.device or "", using, words))
    except NotFoundError:
        codes = Codes({}, "its program was not compiled by a toolchain that is here")
    except KernlensError as error:
        codes = Codes({}, str(error))
    return codes.trial(each.kernel.name, change, before)
