"""What a user reads: one line for each mistake, of a length that can be read, and nothing where nobody reads."""

import importlib
import io
import os
import subprocess
import sys

import pytest

from pixelbrax.cli import parse as parsing
from pixelbrax.cli import render
from pixelbrax.cli.main import main
from pixelbrax.cli.parse import _first_sentence, parse
from pixelbrax.training import RunDir, TrainConfig

pytestmark = pytest.mark.usefixtures("probe_tasks")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("train --num-step 5", "Unrecognized options: --num-step, 5: did you mean --num-steps"),
        ("train --learning-rat 5", "did you mean --final-learning-rate or --learning-rate"),
        ("eval r --episode 3", "did you mean --episode-length or --episodes"),
        ("eval r --bestt", "did you mean --best or --no-best"),
        ("render ant --backen mjx", "did you mean --backend"),
        ("trian", "unknown command 'trian': did you mean train"),
        ("train --task qqqq", "unknown task 'qqqq': there are "),
        ("train --distractors nope", "unknown distractor 'nope': "),
        ("eval r --episodes 1000000000", "episodes is 1000000000: it must be at least 1 and at most 1000000"),
        ("render ant --size 100000", "size is 100000: it must be at least 1 and at most 2048"),
        ("render ant --seeds 1000 --steps 1000", "16,384,000,000 pixels, and at most 500,000,000 can be"),
        ("render ant --every 10000000000", "every is 10000000000"),
        ("render ant --out x.mp4 --seconds inf", "seconds is inf: it must be finite"),
        ("render ant --out x.mp4 --seconds 0", "seconds is 0.0: it must be positive"),
        ("render ant --out x.jpg", "x.jpg: --out must end in .png, .mp4, .gif or .html"),
        ("render ant --seconds 20", "leave out --seconds: nothing in a .png depends on it"),
        ("render ant --out x.mp4 --seeds 2 --every 10", "leave out --seeds, --every: nothing in a .mp4"),
        ("render ant --out x.html --size 128 --no-shadows", "leave out --size, --shadows: nothing in a .html"),
        ("render probe/sides --camera nope", "nope"),
        ("render probe/sides --camera 99", "99"),
        ("render probe/sides --samples 5", "samples is 5"),
        ("render probe/sides --out x.gif --size 2000", "800,000,000 pixels"),
        ("train --task probe/sides --camera nope", "nope"),
        ("train --task probe/sides --samples 3", "samples is 3"),
        ("bench render --seconds inf", "seconds is inf"),
        ("bench render --seconds 1e9", "seconds is 1000000000.0: it must be at most 3600"),
        ("bench env --num-envs 99999999999999999999", "num-envs is '99999999999999999999'"),
        ("bench render --num-envs 100000000 --task probe/sides", "at most"),
        ("bench render --size 100000 --task probe/sides", "size is 100000"),
        ("plot r --out folder/x.png", "there is no folder"),
        ("videos preview --clips 1000000", "clips is 1000000"),
    ],
)
def test_mistakes_end_with_one_line_that_can_be_read(argv, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(argv.split()) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""
    assert err.count("\n") == 1
    assert len(err) < 400
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "box",
    [
        """
╭─ Unrecognized options ──────────────╮
│ Unrecognized options: --num-step, 5 │
│ ─────────────────────────────────── │
│ Perhaps you meant:                  │
│     --num-steps INT                 │
│         Steps. See --seed.          │
│ ─────────────────────────────────── │
│ For full helptext, run x --help     │
╰─────────────────────────────────────╯
""",
        """
 Unrecognized options
 -----------------------------------
  Unrecognized options: --num-step, 5
  ----------------------------------
  Perhaps you meant:
      --num-steps INT
          Steps. See --seed.
  ----------------------------------
  For full helptext, run x --help
""",
    ],
)
def test_a_terminal_without_utf8_reads_the_same(box):
    assert _first_sentence(box) == "Unrecognized options: --num-step, 5: did you mean --num-steps?"


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", b"3 ? 1"), ("utf-8", "3 ± 1".encode())])
def test_what_an_encoding_lacks_is_replaced(encoding, shown, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr(importlib.import_module("pixelbrax.cli.main"), "_run", lambda argv: print("3 ± 1") or 0)
    assert main([]) == 0
    assert out.buffer.getvalue().strip() == shown


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (b"updates,steps,seconds,return\n1,10,1,words\n2,20,2,3\n", "line 2, is damaged: return is 'words'"),
        (b"updates,steps,seconds,score\n1,10,1,2\n", "there is no column return"),
        (b"\xff\xfe\x00\n", "it is not text"),
        (b"updates,steps,seconds,return\n1,10,1,3\n2,2", None),  # the last row is being written
    ],
)
def test_a_damaged_metrics_file_is_told(metrics, message, tmp_path, capsys):
    run = RunDir.create(tmp_path / "run", TrainConfig())
    run.metrics_file.write_bytes(metrics)
    assert main(["plot", str(run.path), "--out", str(tmp_path / "curves.png")]) == (2 if message else 0)
    err = capsys.readouterr().err
    assert message is None or (message in err and err.count("\n") == 1)
    assert (tmp_path / "curves.png").exists() == (message is None)


def test_a_device_that_is_not_there_is_told():
    code = "import sys; from pixelbrax.cli import bench, main; bench.main = lambda _: __import__('jax').devices()\n"
    command = [sys.executable, "-c", f"{code}sys.exit(main(['bench']))"]
    process = subprocess.run(command, env=os.environ | {"JAX_PLATFORMS": "vax"}, capture_output=True, text=True)
    assert process.stderr.startswith("pixelbrax bench: error: JAX finds no device of JAX_PLATFORMS=vax: unset it, or")
    assert process.stderr.count("\n") == 1
    assert process.returncode == 2


def test_a_reader_who_leaves_ends_a_command_without_a_word():
    process = subprocess.Popen(
        [sys.executable, "-m", "pixelbrax", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()  # long before the command has loaded
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.parametrize(
    ("words", "shadows", "samples"),
    [
        ([], None, None),
        (["--shadows"], True, None),
        (["--no-shadows", "--samples", "4"], False, 4),
        (["--shadows", "--samples", "4"], True, 4),
        (["--shadows", "False"], False, None),
        (["--shadows", "True"], True, None),
    ],
)
def test_flags_that_are_as_elsewhere_by_default_need_no_value(words, shadows, samples):
    args = parse(render.Args, ["ant", *words], "render", "")
    assert (args.task, args.shadows, args.samples) == ("ant", shadows, samples)


def test_a_closed_output_is_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["list"]) == 0


def test_the_recorded_command_loads_its_plugins(monkeypatch):
    monkeypatch.setattr(parsing, "imported_modules", lambda: ("my.tasks",))
    assert parsing.as_typed("sweep", ["--seed", "3"]) == "pixelbrax sweep --import my.tasks --seed 3"


def test_a_level_that_is_no_number_is_refused(capsys, tmp_path):
    assert main(["compare", str(tmp_path), "--below", "nan", "--out", str(tmp_path / "a.png")]) == 2
    assert "--below is nan: it must be finite" in capsys.readouterr().err
