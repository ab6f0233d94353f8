"""Run the notebooks in this trained project (`make train`), and keep copies with their outputs as pages of the site.

Usage: run_notebooks.py [NAME ...], such as `quickstart compare_runs`; by default all of `notebooks`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
PAGES = ROOT / "docs" / "notebooks"

PICTURES = """
import plotly.graph_objects as go
import plotly.io as pio
from plotly.io.base_renderers import MimetypeRenderer
from ease.reporting.plots.pictures import picture_svg

class Picture(MimetypeRenderer):
    def to_mimebundle(self, figure):
        return {"image/svg+xml": picture_svg(go.Figure(figure))}

pio.renderers["picture"] = Picture()
pio.renderers.default = "picture"
"""
"""Draws Plotly's figures as pictures: the site's pages load no scripts from elsewhere."""


def main() -> None:
    """Run the notebooks that the command names, by default all."""
    PAGES.mkdir(exist_ok=True)
    names = sys.argv[1:] or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    for name in names:
        sys.stderr.write(f"Running notebooks/{name}.ipynb\n")
        nbformat.write(run_notebook(NOTEBOOKS / f"{name}.ipynb"), PAGES / f"{name}.ipynb")


def run_notebook(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with what its cells return and show, without what they log."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(PICTURES))
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    del notebook.cells[0]
    for number, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), 1):
        # Times of each cell
        cell.metadata.pop("execution", None)
        cell.execution_count = number
        cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = number
    return notebook


if __name__ == "__main__":
    main()
