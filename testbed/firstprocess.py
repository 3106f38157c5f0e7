"""Process 1 of a box: it makes the rooms, starts the programs in them and buries the dead.

Everything of a cluster is its child, or an orphan handed to it, in a process namespace that ends with it: when it
goes, the kernel kills the rest, whatever state they are in. It serves one JSON line per request on a unix socket:

    {"do": "room", "name": "n1", "number": 1}                       -> {"network": 9, "files": 10, ...} (its open files)
    {"do": "start", "room": "n1", "name": "kubelet", "argv": [...]}  -> {"pid": 42}
    {"do": "signal", "name": "kubelet", "signal": 15}                -> {"sent": true}
    {"do": "wait", "name": "kubelet"}                                -> {"status": 0}, when it has ended
    {"do": "halt", "name": "containerd-n1"}                          -> {"status": 0}, when it has ended by SIGTERM
    {"do": "restart", "name": "containerd-n1"}                       -> {"pid": 43}, with the words it was started with
    {"do": "devices", "room": "n1", "nodes": [["/dev/mxcd", 1, 3]]}  -> {"made": 1}
    {"do": "list"}                                                   -> {"programs": [...]}

It has one thread and no event loop of a library, because it forks without exec, which neither survives well.
"""

import json
import os
import selectors
import signal
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from testbed import cgroups, linux, rooms
from testbed.places import ClusterFolder

CONTROL = "control"
NAMESPACES = {"mnt": linux.NEW_MOUNT, "net": linux.NEW_NET, "uts": linux.NEW_UTS, "cgroup": linux.NEW_CGROUP}
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Request = dict[str, Any]


@dataclass(slots=True)
class Room:
    """Open files that keep a room's namespaces alive while no program runs in it."""

    name: str
    namespaces: dict[str, int]


@dataclass(slots=True)
class Program:
    pid: int
    request: Request
    """With which it was started."""
    status: int | None = None
    waiting: list[socket.socket] = field(default_factory=list[socket.socket])
    restarting: list[socket.socket] = field(default_factory=list[socket.socket])
    """Who waits for its successor."""

    @property
    def room(self) -> str:
        return self.request["room"]


class FirstProcess:
    """The server. It ends, and with it the box, when its socket's folder is gone or it is killed; never by itself."""

    def __init__(self, folder: ClusterFolder) -> None:
        self._folder = folder
        self._rooms: dict[str, Room] = {}
        self._programs: dict[str, Program] = {}
        self._selector = selectors.DefaultSelector()
        self._unread: dict[socket.socket, bytes] = {}

    def serve(self) -> None:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Under its name only once it listens: whoever sees the file may connect.
        unheard = self._folder.socket.with_suffix(".new")
        listening.bind(str(unheard))
        listening.listen(64)
        self._rooms[CONTROL] = Room(CONTROL, _open_namespaces())
        unheard.rename(self._folder.socket)
        woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        self._selector.register(listening, selectors.EVENT_READ)
        self._selector.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is listening:
                    client, _ = listening.accept()
                    self._unread[client] = b""
                    self._selector.register(client, selectors.EVENT_READ)
                elif key.fileobj == woken:
                    os.read(woken, 4096)
                    self._bury()
                else:
                    self._hear(cast("socket.socket", key.fileobj))

    def _hear(self, client: socket.socket) -> None:
        try:
            more = client.recv(1 << 20)
        except ConnectionResetError:
            more = b""
        if not more:
            self._selector.unregister(client)
            del self._unread[client]
            client.close()
            return
        *lines, rest = (self._unread[client] + more).split(b"\n")
        self._unread[client] = rest
        for line in lines:
            self._answer(client, json.loads(line))

    def _answer(self, client: socket.socket, request: Request) -> None:
        try:
            answer = getattr(self, f"_do_{request['do']}")(client, request)
        except Exception as error:  # noqa: BLE001 - process 1 must outlive every request; the caller gets the reason
            answer = {"error": f"{type(error).__name__}: {error}"}
        if answer is not None:
            _tell(client, answer)

    def _do_room(self, _client: socket.socket, request: Request) -> dict[str, Any]:
        name, number = request["name"], request["number"]
        if name in self._rooms:
            raise ValueError(f"there is a room '{name}' already")
        self._rooms[name] = Room(name, make_room(self._folder, name, number))
        rooms.route_pods(number)
        return self._rooms[name].namespaces

    def _do_start(self, _client: socket.socket, request: Request) -> dict[str, Any]:
        name, room = request["name"], self._rooms[request["room"]]
        old = self._programs.get(name)
        if old is not None and old.status is None:
            raise ValueError(f"'{name}' runs already, as process {old.pid}")
        log = self._folder.logs / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        pid = os.fork()
        if pid == 0:
            _become(room, request["argv"], request.get("env", {}), log)
        self._programs[name] = Program(pid, request)
        return {"pid": pid}

    def _do_halt(self, client: socket.socket, request: Request) -> dict[str, Any] | None:
        self._do_signal(client, {**request, "signal": signal.SIGTERM})
        return self._do_wait(client, request)

    def _do_restart(self, client: socket.socket, request: Request) -> dict[str, Any] | None:
        program = self._programs[request["name"]]
        if program.status is not None:
            return self._do_start(client, program.request)
        program.restarting.append(client)
        self._do_signal(client, {**request, "signal": signal.SIGTERM})
        return None

    def _do_signal(self, _client: socket.socket, request: Request) -> dict[str, Any]:
        program = self._programs[request["name"]]
        if program.status is None:
            os.kill(program.pid, request["signal"])
        return {"sent": program.status is None}

    def _do_wait(self, client: socket.socket, request: Request) -> dict[str, Any] | None:
        program = self._programs[request["name"]]
        if program.status is None:
            program.waiting.append(client)
            return None
        return {"status": program.status}

    def _do_devices(self, _client: socket.socket, request: Request) -> dict[str, Any]:
        room = self._rooms[request["room"]]
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                linux.enter(room.namespaces["mnt"], linux.NEW_MOUNT)
                for path, major, minor in request["nodes"]:
                    rooms.make_device(Path(path), major, minor)
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(pid, 0)
        if status:
            raise OSError(f"the device nodes of '{room.name}' could not be made")
        return {"made": len(request["nodes"])}

    def _do_list(self, _client: socket.socket, _request: Request) -> dict[str, Any]:
        known = self._programs.items()
        return {
            "programs": [
                {"name": name, "room": one.room, "pid": one.pid, "status": one.status} for name, one in known
            ]
        }

    def _bury(self) -> None:
        """Reap every dead child, known or handed down, and tell those who wait."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for program in tuple(self._programs.values()):
                if program.pid == pid and program.status is None:
                    program.status = os.waitstatus_to_exitcode(status)
                    for client in program.waiting:
                        _tell(client, {"status": program.status})
                    program.waiting.clear()
                    self._succeed(program)

    def _succeed(self, program: Program) -> None:
        """Start what was to be restarted; once, however many asked for it meanwhile."""
        if program.restarting:
            answer = self._do_start(program.restarting[0], program.request)
            for client in program.restarting:
                _tell(client, answer)


def _tell(client: socket.socket, answer: dict[str, Any]) -> None:
    try:
        client.sendall(json.dumps(answer).encode() + b"\n")
    except OSError:
        return  # whoever asked has gone; the next read of this socket closes it


def _open_namespaces() -> dict[str, int]:
    return {name: os.open(f"/proc/self/ns/{name}", os.O_RDONLY) for name in NAMESPACES}


def _become(room: Room, argv: list[str], env: dict[str, str], log: Path) -> None:
    """In a forked child: move into the room and become the program. Never returns."""
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open("/dev/null", os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.setsid()
        # What process 1 does not listen to, a program must hear: what is ignored is handed down.
        for number in (signal.SIGCHLD, *IGNORED):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        for tree in cgroups.hierarchies():
            cgroups.join(tree.mounted_at / room.name / "system")
        for kind in ("cgroup", "uts", "net", "mnt"):
            linux.enter(room.namespaces[kind], NAMESPACES[kind])
        os.chdir("/")
        os.closerange(3, 4096)
        os.execve(argv[0], argv, env)  # noqa: S606 - no shell is the point
    except BaseException as error:  # noqa: BLE001 - a child that failed to become a program must not go on as process 1
        os.write(2, f"cannot start {argv[0]}: {error}\n".encode())
    finally:
        os._exit(127)


def make_room(folder: ClusterFolder, name: str, number: int) -> dict[str, int]:
    """Fork a builder that leaves our namespaces, furnishes new ones, and sends back files that keep them open."""
    for tree in cgroups.hierarchies():
        cgroups.make(tree.mounted_at / name)
        cgroups.delegate(tree.mounted_at)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        builder = os.fork()
        if builder == 0:
            ours.close()
            _build_room(folder, name, number, theirs)
        theirs.close()
        try:
            _expect(b"apart", ours.recv(4096))
            rooms.plug_in(number, builder)
            ours.sendall(b"plugged in")
            told, opened, _, _ = socket.recv_fds(ours, 4096, len(NAMESPACES))
            _expect(b"done", told)
        except OSError as error:
            raise OSError(f"room '{name}' could not be made: {error}") from error
        finally:
            os.waitpid(builder, 0)
    return dict(zip(NAMESPACES, opened, strict=True))


def _expect(word: bytes, told: bytes) -> None:
    if told != word:
        raise OSError(told.decode() or "its builder died")


def _build_room(folder: ClusterFolder, name: str, number: int, parent: socket.socket) -> None:
    status = 1
    try:
        for tree in cgroups.hierarchies():
            cgroups.join(tree.mounted_at / name)
        linux.unshare(linux.NEW_NET | linux.NEW_MOUNT | linux.NEW_UTS | linux.NEW_CGROUP)
        parent.sendall(b"apart")
        if parent.recv(64) != b"plugged in":
            return
        rooms.furnish(folder.of_room(name), name, [folder.path], first=False)
        rooms.wire_node(number)
        for tree in cgroups.hierarchies():
            cgroups.make(tree.mounted_at / "system")
        opened = _open_namespaces()
        socket.send_fds(parent, [b"done"], list(opened.values()))
        status = 0
    except Exception as error:  # noqa: BLE001 - the reason must reach the one who asked for the room
        parent.sendall(f"{type(error).__name__}: {error}".encode()[:4000])
    finally:
        os._exit(status)


def live(folder: ClusterFolder) -> None:
    """Become process 1: called in the first process of a new process namespace, already in the cluster's cgroups."""
    linux.die_with_parent(signal.SIGKILL)
    # The pipe to our parent is not ours to hold open, and nothing inside may read the test's standard input.
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    linux.unshare(linux.NEW_NET | linux.NEW_MOUNT | linux.NEW_UTS | linux.NEW_IPC | linux.NEW_CGROUP)
    rooms.furnish(folder.of_room(CONTROL), CONTROL, [folder.path], first=True)
    for tree in cgroups.hierarchies():
        leaf = tree.mounted_at / CONTROL / "system"
        cgroups.make(leaf)
        cgroups.join(leaf)
    rooms.wire_control_plane()
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    sys.stdout.flush()
    FirstProcess(folder).serve()
