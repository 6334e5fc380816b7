"""The routes, and what each address answers (openapi.json beside this says the same)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kernlens.errors import KernlensError
from kernlens.explorer import questions
from kernlens.explorer.compile_queue import CompileQueue
from kernlens.explorer.compile_request import CompileRequest, compile_request, json_body
from kernlens.explorer.compile_work import CompileWork, Results, confined
from kernlens.explorer.event_stream import EventStream
from kernlens.explorer.guard import COMPILE, REPORT
from kernlens.explorer.line_figures import line_figures
from kernlens.explorer.newest_first import NewestFirst
from kernlens.explorer.replay_work import ReplayWork, replays
from kernlens.explorer.responses import FAULT, JSON, RefusedError, json_response, unknown_program
from kernlens.explorer.saved_report import report_bytes, report_request
from kernlens.explorer.served import Chunks, Served, with_texts
from kernlens.explorer.served_page import Page
from kernlens.explorer.trial_work import TrialWork
from kernlens.model.build import Source
from kernlens.model.program import Program
from kernlens.toolchain.confinement import Limits
from kernlens.toolchain.shown_files import is_offered
from kernlens.toolchain.sources.recorded_sources import check_options
from kernlens.verbs.replay.kept import RecordedLaunch

Answer = TypeVar("Answer")

#: Chunks are named by what is in them; they are for this user alone.
_IMMUTABLE = "private, max-age=31536000, immutable"
#: Threads that make chunks and answer questions.
_ANSWERING = 2


class Explorer:
    """The state of all routes. ``toolchains`` are the user's, none: all; ``unconfined``: compilers can open all files."""

    def __init__(
        self,
        served: Served,
        *,
        jobs: int,
        limits: Limits,
        toolchains: Sequence[str],
        on_fault: Callable[[BaseException], None],
        unconfined: bool = False,
    ) -> None:
        self._unconfined = unconfined
        self._served = served
        self._limits = limits
        self._toolchains = tuple(toolchains)
        self._results = Results()
        self._chunks = Chunks(served, self._results)
        self._page = Page()
        self._turn = NewestFirst()
        self._pool = ThreadPoolExecutor(_ANSWERING, thread_name_prefix="answer")
        self.queue = CompileQueue(jobs, on_fault)

    def app(self) -> Starlette:
        """Return the application, which ``guard.Guard`` has to stand before."""
        routes = [
            Route("/", self._page.page),
            Route(self._page.script_path, self._page.script),
            Route("/icon.svg", self._page.icon),
            Route("/api/index", self._get_index),
            Route("/api/chunk/{chunk}", self._get_chunk),
            Route("/api/changes", self._get_changes),
            Route("/api/choices", self._get_choices),
            Route("/api/diff", self._get_diff),
            Route("/api/lines", self._get_lines),
            Route("/api/link", self._get_link),
            Route("/api/sweep", self._get_sweep),
            Route(COMPILE, self._post_compile, methods=["POST"]),
            Route(REPORT, self._post_report, methods=["POST"]),
        ]
        for route in routes:
            route.methods = route.methods - {"HEAD"} if route.methods else route.methods
        app = Starlette(
            routes=routes, exception_handlers={HTTPException: _refused, RefusedError: _refused, Exception: _failed}
        )
        app.router.redirect_slashes = False
        return app

    def close(self) -> None:
        """End all compiles, and wait for what runs."""
        self.queue.close()
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def _get_index(self, request: Request) -> Response:
        return Response(await self._answered(self._chunks.index), media_type=JSON)

    async def _get_chunk(self, request: Request) -> Response:
        chunk = request.path_params["chunk"]
        headers = {"ETag": f'"{chunk}"', "Cache-Control": _IMMUTABLE}
        content = self._chunks.held(chunk)
        if content is None:
            # One is made at a time: a reader who walks along the list of kernels waits for none that was passed.
            async with self._turn:
                content = await self._answered(self._chunks.content_of, chunk)
        if content is None:
            again = "reload the page; of compiles only the newest results are kept: compile again"
            raise RefusedError(404, f"there is no chunk {chunk}", again)
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(content, 200, headers, "application/octet-stream")

    async def _get_changes(self, request: Request) -> Response:
        return json_response({"changed": await self._answered(self._served.changed)})

    async def _get_choices(self, request: Request) -> Response:
        choices = await self._answered(questions.choices, self._toolchains)
        replay = await self._in_thread(lambda: replays(self._served, unconfined=self._unconfined))
        return json_response({**choices, "replay": replay})

    async def _get_diff(self, request: Request) -> Response:
        sides = [request.query_params.getlist(side) for side in ("left", "right")]
        if any(len(side) != 1 for side in sides):
            raise RefusedError(400, "left and right each have to name one program by its id")
        (left,), (right,) = sides
        return json_response(await self._answered(questions.diff, self._served, self._results, left, right))

    async def _get_lines(self, request: Request) -> Response:
        programs = request.query_params.getlist("program")
        if len(programs) != 1:
            raise RefusedError(400, "program has to name one program by its id")
        content = await self._answered(line_figures, self._served, self._results, programs[0])
        return Response(content, media_type=JSON)

    async def _get_link(self, request: Request) -> Response:
        return json_response(await self._answered(questions.link, self._served))

    async def _get_sweep(self, request: Request) -> Response:
        return json_response(self._served.sweep)

    async def _post_compile(self, request: Request) -> Response:
        asked = compile_request(await json_body(request))
        works = await self._answered(self._works, asked)
        submission = self.queue.submit(asked.session, asked.serial, list(enumerate(works)))
        return EventStream(submission, lambda: self.queue.end(submission))

    async def _post_report(self, request: Request) -> Response:
        asked = report_request(await json_body(request))
        content = await self._answered(report_bytes, self._served, self._results, asked)
        if asked.only_size:
            return json_response({"size": len(content)})
        # The browser saves it: nothing here may be shown as a page of this server.
        headers = {"Content-Disposition": 'attachment; filename="report.html"'}
        return Response(content, 200, headers, "application/octet-stream")

    def _works(self, asked: CompileRequest) -> list[CompileWork | TrialWork | ReplayWork]:
        sources, options = self._sources(asked)
        program = None if asked.program is None else self._served.program(asked.program)
        sources = with_texts(sources, dict(asked.others), () if program is None else program.sources)
        works: list[CompileWork | TrialWork | ReplayWork] = []
        for configuration in asked.configurations:
            if self._toolchains and configuration.toolchain not in self._toolchains:
                raise RefusedError(
                    404, f"the toolchain {configuration.toolchain} is none of {', '.join(self._toolchains)}"
                )
            try:
                check_options(configuration.options, options, self._served.include)
            except KernlensError as error:
                raise RefusedError(
                    403, str(error), "kernlens serve --include DIR allows what lies below DIR"
                ) from error
            include, unconfined = self._served.include, self._unconfined
            if configuration.replay is not None:
                launch = _launch(program, configuration.replay.kernel)
                works.append(ReplayWork(configuration, sources, include, launch, unconfined))
                continue
            if configuration.trials:
                works.append(TrialWork(configuration, sources, include, self._limits, unconfined))
                continue
            work = CompileWork(
                configuration, sources, include, self._limits, unconfined, self._results, self._served.own_roots
            )
            works.append(work)
        return works

    def _sources(self, asked: CompileRequest) -> tuple[Sequence[Source], str]:
        if asked.program is None:
            return self._served.sources(asked.path, asked.text, None)
        program = self._served.program(asked.program) or self._results.program(asked.program)
        if program is not None:
            return self._served.sources(asked.path, asked.text, program)
        build = self._served.failed_build(asked.program)
        if build is None:
            raise unknown_program(asked.program)
        return self._served.failed_sources(asked.path, asked.text, build)

    async def _answered(self, ask: Callable[..., Answer], *arguments: Any) -> Answer:
        """Return what ``ask`` does, from a thread whose children are confined. What kernlens cannot answer is not found."""

        def answer() -> Answer:
            # No text is compiled here, only what the server was started for is taken apart: that is no reason to refuse it.
            with confined(self._limits, unconfined=self._unconfined or not is_offered()):
                return ask(*arguments)

        return await self._in_thread(answer)

    async def _in_thread(self, ask: Callable[[], Answer]) -> Answer:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, ask)
        except KernlensError as error:
            raise RefusedError(404, str(error)) from error


def _launch(program: Program | None, kernel: str) -> RecordedLaunch:
    """Return the first launch of a kernel that the recording keeps. Raises RefusedError 404 if there is none."""
    launches = () if program is None else program.build.kept_launches
    for launch in launches:
        if program is not None and launch.kernel == kernel:
            return RecordedLaunch(program.build, launch)
    raise RefusedError(404, f"no launch of {kernel} was kept", "kernlens capture --launch KERNEL -- APP keeps launches")


async def _refused(request: Request, error: Exception) -> Response:
    if isinstance(error, RefusedError):
        return error.response()
    assert isinstance(error, HTTPException)
    sentences = {404: "there is nothing at this address", 405: f"{request.method} is not possible here"}
    sentence = sentences.get(error.status_code, error.detail)
    return RefusedError(error.status_code, sentence, None, error.headers).response()


async def _failed(request: Request, error: Exception) -> Response:
    return FAULT.response()
