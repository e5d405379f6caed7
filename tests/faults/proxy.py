"""TCP proxies on loopback whose traffic can be delayed, cut, swallowed or reset while it flows."""

import asyncio
import socket
import threading
from collections.abc import Callable, Container, Coroutine
from enum import Enum, auto
from typing import Any

HOST = "127.0.0.1"


class Mode(Enum):
    """What happens to traffic: passed on; connections ended and refused; read and never passed on.

    HELD keeps what clients send until it is delivered, as a network does with a packet that comes late.
    """

    OPEN = auto()
    CUT = auto()
    HALF_OPEN = auto()
    HELD = auto()


class Proxies:
    """Any number of proxies on one event loop in a thread of its own; a context manager."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)
        self._proxies: list[Proxy] = []

    def __enter__(self) -> "Proxies":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for proxy in self._proxies:
            proxy.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def before(self, port: int, at: tuple[str, int] = (HOST, 0)) -> "Proxy":
        """A proxy before the listener at ``port``, which itself listens at ``at``."""
        proxy = Proxy(self.run, port, at)
        self._proxies.append(proxy)
        return proxy

    def run(self, task: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(task, self._loop).result()


class Proxy:
    """One listener's proxy; ``mode`` and ``delay`` (seconds, each way) can be changed at any time."""

    def __init__(
        self, run: Callable[[Coroutine[Any, Any, Any]], Any], target: int, at: tuple[str, int] = (HOST, 0)
    ) -> None:
        self._run, self._target = run, target
        self._streams: set[asyncio.StreamWriter] = set()
        self._held: dict[asyncio.StreamWriter, bytearray] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.mode, self.delay = Mode.OPEN, 0.0
        self._server: asyncio.Server = run(self._started(*at))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def set(self, mode: Mode) -> None:
        """Change the mode; CUT ends what is connected."""
        self.mode = mode
        if mode is Mode.CUT:
            self.reset()

    def reset(self) -> None:
        """End every connection at once, with RST."""
        self._run(self._reset())

    def give_up(self) -> None:
        """End clients' connections and let new ones through; what is held is on its way still."""
        self.mode = Mode.OPEN
        self._run(self._reset(but=self._held))

    def deliver(self) -> None:
        """Let what was held arrive, on the connections that it was sent on."""
        self._run(self._deliver())

    def close(self) -> None:
        """End connections and stop listening."""
        self._run(self._closed())

    async def _started(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._accept, host, port)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut():
            _abort(writer)
            return
        try:
            beyond = await asyncio.open_connection(HOST, self._target)
        except OSError:
            _abort(writer)
            return
        if self._is_cut():  # cut while the connection was made
            _abort(writer)
            _abort(beyond[1])
            return
        self._streams |= {writer, beyond[1]}
        for source, sink in ((reader, beyond[1]), (beyond[0], writer)):
            task = asyncio.create_task(self._pump(source, sink, (writer, beyond[1]), sink is beyond[1]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _is_cut(self) -> bool:
        return self.mode is Mode.CUT

    async def _pump(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        both: tuple[asyncio.StreamWriter, ...],
        from_client: bool,
    ) -> None:
        try:
            while data := await source.read(65_536):
                if self.delay:
                    await asyncio.sleep(self.delay)
                if self.mode is Mode.HALF_OPEN:
                    continue
                if self.mode is Mode.HELD and from_client:
                    self._held.setdefault(sink, bytearray()).extend(data)
                    continue
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            for writer in both:
                if writer not in self._held:
                    self._streams.discard(writer)
                    _abort(writer)

    async def _reset(self, but: Container[asyncio.StreamWriter] = ()) -> None:
        for writer in list(self._streams):
            if writer not in but:
                _abort(writer)

    async def _deliver(self) -> None:
        for writer, data in self._held.items():
            writer.write(bytes(data))
            await writer.drain()
        self._held.clear()

    async def _closed(self) -> None:
        self._server.close()
        await self._reset()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _abort(writer: asyncio.StreamWriter) -> None:
    """Close with RST, not FIN."""
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    writer.transport.abort()
