"""A nats-server of Debian on loopback, and a client that speaks NATS' text protocol, independent of heddle's."""

import contextlib
import json
import pathlib
import shutil
import socket
import subprocess
import threading
import time

import program

SERVER = shutil.which("nats-server", path="/usr/sbin:/usr/bin:/usr/local/bin")
MISSING = None if SERVER else "there is no nats-server: scripts/setup --nats"


class Server:
    """One that may be ended and started again at the same port."""

    def __init__(self, folder, configuration=""):
        self.port = program.free_port()  # no port that a client gets while the server is away
        self._folder = pathlib.Path(folder)
        self._configuration = self._folder / f"nats-{self.port}.conf"
        self._configuration.write_text(f"host: 127.0.0.1\nport: {self.port}\n{configuration}\n", encoding="utf-8")
        self._process = None

    def start(self):
        with open(self._folder / "nats.log", "ab") as log:
            self._process = subprocess.Popen([SERVER, "-c", str(self._configuration)], stdin=subprocess.DEVNULL,
                                             stdout=log, stderr=log)
        end = time.monotonic() + program.PATIENCE_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError((self._folder / "nats.log").read_text(encoding="utf-8"))
            time.sleep(0.05)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def pause(self, number):
        self._process.send_signal(number)

    def close(self):
        if self._process and self._process.poll() is None:
            self.kill()


@contextlib.contextmanager
def running(folder, configuration=""):
    server = Server(folder, configuration)
    server.start()
    try:
        yield server
    finally:
        server.close()


class Client:
    """Subscribes to all subjects, and keeps (subject, text) of each message."""

    def __init__(self, port, **connect):
        self._socket = socket.create_connection(("127.0.0.1", port), program.PATIENCE_S)
        self._file = self._socket.makefile("rb")
        assert self._file.readline().startswith(b"INFO ")
        options = {"verbose": False, "pedantic": True, "lang": "python", "version": "0", **connect}
        self._send(b"CONNECT " + json.dumps(options).encode() + b"\r\nSUB > 1\r\nPING\r\n")
        while (line := self._file.readline()) != b"PONG\r\n":
            assert line, "the server has closed the connection"
            assert not line.startswith(b"-ERR"), line
        self.messages = []
        self._came = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _send(self, text):
        self._socket.sendall(text)

    def publish(self, subject, text):
        self._send(b"PUB %s %d\r\n%s\r\n" % (subject.encode(), len(text), text))

    def _read(self):
        with contextlib.suppress(OSError, ValueError):
            while line := self._file.readline():
                if line == b"PING\r\n":
                    self._send(b"PONG\r\n")
                elif line.startswith(b"MSG "):
                    words = line.split()
                    text = self._file.read(int(words[-1]) + 2)[:-2]
                    with self._came:
                        self.messages.append((words[1].decode(), text.decode()))
                        self._came.notify_all()

    def wait_for(self, is_it, timeout=program.PATIENCE_S):
        """The first message's document of which is_it(subject, document) holds."""
        def found():
            for subject, text in self.messages:
                document = json.loads(text)
                if is_it(subject, document):
                    return document
            return None

        with self._came:
            self._came.wait_for(found, timeout)
            document = found()
        if document is None:
            last = dict(self.messages)  # of each subject
            raise AssertionError(f"none of {len(self.messages)} messages is it: {last}")
        return document

    def close(self):
        with contextlib.suppress(OSError):  # the server has gone
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._file.close()
        self._socket.close()
