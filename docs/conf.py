"""How Sphinx builds the manual: `make docs`. Nothing is fetched, neither by the build nor by the pages."""

import os
import sys
from pathlib import Path

# Before anything loads the core: pictures and timings of the gallery are those of one thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import sparsecrf

project = "sparsecrf"
author = "The sparsecrf developers"
copyright = author
version = release = sparsecrf.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "plain_docstrings",
    "program_help",
    "repository_links",
]
exclude_patterns = ["_build", "images/README.md", "gallery/**.ipynb", "gallery/**.py", "gallery/**.zip"]
templates_path = ["_templates"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # a function of the gallery's settings cannot be pickled

# ---- Pages
html_theme = "pydata_sphinx_theme"
html_title = f"sparsecrf {release}"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"**": ["contents"]}

# ---- Reference, made from docstrings and type hints
autosummary_generate = True
# Two names that differ in case only would be one file on some systems.
autosummary_filename_map = {"sparsecrf.Fit": "sparsecrf.Fit-class", "sparsecrf.path.Path": "sparsecrf.path.Path-class"}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
python_maximum_signature_line_length = 100
smartquotes = False  # --option is no dash
default_role = "code"  # `Model` in a docstring

# `-n` warns of names that lead nowhere. Other packages' pages are not at hand (intersphinx would fetch them), and names
# of types inside the package are no pages.
suppress_warnings = ["ref.python"]  # `bytes`, the type, is also the name of attributes
nitpick_ignore_regex = [
    ("py:.*", r"(numpy|np|scipy|sklearn|matplotlib|distributed|collections|typing|contextlib|enum|os|pathlib)\..*"),
    ("py:.*", r"(NDArray|Any|Axes|Figure)"),
    ("py:class", r"tuple\[.*numpy\.ndarray\[dtype=.*"),  # signatures that nanobind writes
    ("py:.*", r"sparsecrf\._core\.(Labeller|Resource|StringTable|Template|WordVectors)"),
    ("py:.*", r"sparsecrf\.(training\.[a-z_]+\..*|contrib\.plots\.display\..*|compatibility\.Named)"),
    ("py:.*", r"sparsecrf\.estimators\.answering\.BaseCRF"),
    ("py:.*", r"sparsecrf\.shards\.(folder\.ShardEntry|shards\.Workers|dataset\.Dataset)"),
    ("py:.*", r"sparsecrf\.encoding\.(formats|vectors|vocabulary)\..*"),
    ("py:.*", r"sparsecrf\.(path\.scores\.Score|encoding\.(ngrams\.Ngrams|clusters\.Clustered|dense\.DenseColumns))"),
    ("py:.*", r"sparsecrf\.contrib\.compat\.(tagger\.ParsedDump|training_log\.TrainLogParser|modelfile\..*)"),
    ("py:.*", r"(BaseCRF|Bigrams|Callback|Encoder|FeatureSet|File|Floats|History|Labels|Numbers|Objects|Pair)"),
    ("py:.*", r"(DenseColumns|Grouping|GroupPenalty|Keys|OwnGroups|PenaltyChoice|PenaltyKind)"),
    ("py:.*", r"(SentenceColumn|Strengths|TrainingData)"),
    (
        "py:.*",
        r"(FileResource|Groups|NgramTable|Ngrams|Point|Rows|Scoring|Self|Source|Token|TrainLogParser|WeightTable)",
    ),
    ("py:.*", r"(LexiconSource|TableSource|Words|WordVectors|Path|Origin)"),
]

# ---- Gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "ignore_pattern": r"made_up\.py",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "min_reported_time": 3600,
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_",),
    "image_scrapers": ("matplotlib", "gallery_pictures"),
    "reset_modules": ("matplotlib",),
    "abort_on_example_error": True,
}
