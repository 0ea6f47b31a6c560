"""Downloads from a stand-in for the hub on this machine."""

import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from driftnet import registry
from driftnet.cli import main
from driftnet.data import fetch as fetching
from driftnet.data.fetch import Remote, download, fetch, listing
from driftnet.errors import DriftnetError, UsageError

TASK = registry.task("NS-PwC")
CONTENT = {f"velocity_{n}.nc": np.random.default_rng(n).bytes(3_000_000 + n) for n in (0, 1, 2, 10)}


class Hub:
    """What the server does and what it was asked for."""

    def __init__(self) -> None:
        self.content = dict(CONTENT)
        self.stated = {name: hashlib.sha256(data).hexdigest() for name, data in CONTENT.items()}
        self.ranges: list[tuple[str, str | None]] = []
        self.breaks_after: int | None = None
        self.breaks = 0
        self.resumes = True
        self.url = ""

    def entries(self) -> list[dict]:
        described = [{"type": "file", "path": "README.md", "size": 3}, {"type": "directory", "path": "more"}]
        for name, data in self.content.items():
            described.append({"type": "file", "path": name, "size": len(data), "lfs": {"oid": self.stated[name]}})
        return described


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.startswith("/api/datasets/camlab-ethz/NS-PwC/tree/main"):
            return self.list()
        name = self.path.rpartition("/")[2]
        if name not in self.hub.content:
            return self.send_error(404)
        return self.send(name)

    def list(self):
        """Two pages, as the hub does it."""
        entries, second = self.hub.entries(), "page=2" in self.path
        body = json.dumps(entries[3:] if second else entries[:3]).encode()
        self.send_response(200)
        if not second:
            self.send_header("Link", f'<{self.hub.url}{self.path}&page=2>; rel="next"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send(self, name):
        asked = self.headers.get("Range")
        self.hub.ranges.append((name, asked))
        start = int(asked[6:-1]) if asked and self.hub.resumes else 0
        body = self.hub.content[name][start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.hub.breaks_after is not None and self.hub.breaks > 0:
            self.hub.breaks -= 1
            self.wfile.write(body[: self.hub.breaks_after])
            self.close_connection = True
        else:
            self.wfile.write(body)


@contextmanager
def served():
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def hub(monkeypatch):
    with served() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setattr(fetching, "PAUSE", 0.0)
        yield hub


def files(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def test_all_chunks_come_as_they_are_and_a_second_time_nothing_is_downloaded(hub, tmp_path, capsys):
    main(["fetch", "NS-PwC", "--output", str(tmp_path)])
    assert "4 files of NS-PwC, 4 downloaded" in capsys.readouterr().out
    assert files(tmp_path) == CONTENT
    asked = len(hub.ranges)
    assert "4 files of NS-PwC, 0 downloaded" in fetch(TASK, tmp_path, None)
    assert len(hub.ranges) == asked


def test_the_first_chunks_are_the_first_in_the_order_of_reading(hub, tmp_path):
    assert "2 left on the hub" in fetch(TASK, tmp_path, 2)
    assert set(files(tmp_path)) == {"velocity_0.nc", "velocity_1.nc"}
    assert [remote.name for remote in listing("camlab-ethz/NS-PwC")][2] == "velocity_10.nc"


def test_a_download_that_breaks_off_goes_on_where_it_stopped(hub, tmp_path):
    hub.breaks_after, hub.breaks = 1_000_000, 2
    fetch(TASK, tmp_path, 1)
    assert files(tmp_path) == {"velocity_0.nc": CONTENT["velocity_0.nc"]}
    assert [asked for _, asked in hub.ranges] == [None, "bytes=1000000-", "bytes=2000000-"]


def test_an_interrupted_command_leaves_nothing_under_the_final_name_and_is_continued(hub, tmp_path, monkeypatch):
    def interrupted(count):
        if count > 1_000_000:
            raise KeyboardInterrupt

    remote = listing("camlab-ethz/NS-PwC")[0]
    with pytest.raises(KeyboardInterrupt):
        download(remote, tmp_path / remote.name, interrupted)
    assert set(files(tmp_path)) == {"velocity_0.nc.partial"}
    held = (tmp_path / "velocity_0.nc.partial").stat().st_size
    fetch(TASK, tmp_path, 1)
    assert files(tmp_path) == {"velocity_0.nc": CONTENT["velocity_0.nc"]}
    assert hub.ranges[-1] == ("velocity_0.nc", f"bytes={held}-")


def test_a_server_that_cannot_resume_is_read_from_the_beginning(hub, tmp_path):
    hub.resumes = False
    (tmp_path / "velocity_0.nc.partial").write_bytes(CONTENT["velocity_0.nc"][:1000])
    fetch(TASK, tmp_path, 1)
    assert files(tmp_path) == {"velocity_0.nc": CONTENT["velocity_0.nc"]}


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(hub, tmp_path):
    hub.stated["velocity_0.nc"] = "0" * 64
    with pytest.raises(DriftnetError, match=r"velocity_0\.nc has SHA-256 .*, the hub states 000000000000"):
        fetch(TASK, tmp_path, 1)
    assert files(tmp_path) == {}


def test_a_server_that_breaks_off_every_time_is_given_up_and_continued_later(hub, tmp_path):
    hub.breaks_after, hub.breaks = 0, 1000
    with pytest.raises(
        DriftnetError, match="0 of 3000000 bytes came, then the connection ended; the same command goes on from there"
    ):
        fetch(TASK, tmp_path, 1)


def test_a_file_of_another_length_is_not_overwritten(hub, tmp_path):
    (tmp_path / "velocity_0.nc").write_bytes(b"mine")
    with pytest.raises(DriftnetError, match="has 4 bytes, on the hub it has 3000000; move it away"):
        fetch(TASK, tmp_path, None)


def test_a_file_that_is_gone_is_said_in_one_line(hub, tmp_path):
    remote = replace(listing("camlab-ethz/NS-PwC")[0], url=f"{hub.url}/nothing.nc")
    with pytest.raises(DriftnetError, match="the server answers 404"):
        download(remote, tmp_path / "a.nc")


@pytest.mark.parametrize(("name", "oid"), [("../evil.nc", "0" * 64), ("a.nc", "nonsense"), ("folder/a.nc", "0" * 64)])
def test_names_and_checksums_that_cannot_be_trusted_are_refused(name, oid, hub, tmp_path):
    hub.content, hub.stated = {name: b"x"}, {name: oid}
    with pytest.raises(DriftnetError, match="that can be trusted"):
        fetch(TASK, tmp_path, None)


def test_a_full_disk_is_noticed_before_anything_is_downloaded(hub, tmp_path, monkeypatch):
    usage = fetching.shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(DriftnetError, match=r"needs 0\.0 GB; the disk has less left"):
        fetch(TASK, tmp_path, None)
    assert files(tmp_path) == {}


def test_a_disk_that_fills_up_on_the_way_is_said_in_one_line(hub):
    remote = Remote("velocity_0.nc", f"{hub.url}/velocity_0.nc", 3_000_000, "0" * 64)
    with pytest.raises(DriftnetError, match="could not write /dev/full: No space left on device"):
        fetching._append(remote, Path("/dev/full"), lambda count: None)


def test_an_unreachable_hub_is_said_in_one_line(monkeypatch, tmp_path):
    with served() as gone:
        monkeypatch.setenv("HF_ENDPOINT", gone.url)
    with pytest.raises(DriftnetError, match="could not reach http://127"):
        fetch(TASK, tmp_path, None)


@pytest.mark.parametrize("endpoint", ["ftp://a", "file:///etc", "nonsense"])
def test_only_http_is_spoken(endpoint, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(UsageError, match="HF_ENDPOINT has to begin with http"):
        fetch(TASK, tmp_path, None)


def test_a_task_that_is_not_published_is_refused(tmp_path):
    source = replace(TASK.source, file="KF-Long.nc")
    with pytest.raises(UsageError, match="is not on the hub; there are NS-SL, NS-PwC"):
        fetch(replace(TASK, name="KF-Long", source=source), tmp_path, None)
