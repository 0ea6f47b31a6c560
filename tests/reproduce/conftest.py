from pathlib import Path

import pytest
import yaml

SMALL_DATA = {"resolution": 16, "train": 4, "validation": 1, "test": 2, "snapshots": 4}
ROWS = {"DRIFT-Net": {"model": "drift-net"}, "FNO": {"model": "fno"}}


def write(path: Path, values: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(values))


def experiment(**changes) -> dict:
    about = {"title": "Small", "about": "Two models.", "place": 1, "published": "tab:main-results"}
    return {**about, "tasks": ["NS-PwC"], "rows": ROWS, "frames": ["paper"], **changes}


@pytest.fixture
def recipes(tmp_path) -> Path:
    return make_recipes(tmp_path)


def make_recipes(root: Path) -> Path:
    """Two experiments that share DRIFT-Net, at a scale of seconds."""
    folder = root / "recipes"
    write(folder / "first.yaml", experiment(figures=["error"]))
    rows = {"DRIFT-Net": {"model": "drift-net"}, "half the data": {"model": "drift-net", "share": 0.5}}
    write(folder / "second.yaml", experiment(title="Second", rows=rows, place=2, published=""))
    for name in ("paper", "ours"):
        (folder / "frames").mkdir(exist_ok=True)
        (folder / "frames" / f"{name}.yaml").write_text(Path(f"recipes/frames/{name}.yaml").read_text())
    scale = {
        "about": "For tests.",
        "seeds": 1,
        "models": {
            "drift-net": {"preset": "drift-net-tiny", "set": {"backbone.widths": [8, 8, 8]}, "step": 0.1},
            "fno": {"preset": "fno-tiny", "set": {"width": 4, "modes": 4}, "step": 0.1},
        },
        "training": {"steps": 4, "batch": 2, "validations": 2},
        "data": {"NS-PwC": SMALL_DATA},
        "costs": {"batch": 1, "steps": 1, "repeats": 1},
    }
    write(folder / "scales" / "laptop.yaml", scale)
    return folder
