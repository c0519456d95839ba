"""Serves models over HTTP (`sparsecrf serve`). Needs Starlette and uvicorn: `pip install "sparsecrf[serve]"`.

`request.py` reads and checks requests, `answer.py` queries the model, `models.py` holds the models and reloads changed
files, `app.py` routes requests, and `server.py` runs the server. `metrics.py` and `openapi.py` make `/metrics`,
`/openapi.json` and `/`.
"""

try:
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError(
        f'sparsecrf serve needs Starlette and uvicorn: pip install "sparsecrf[serve]" ({error})'
    ) from error

from sparsecrf.contrib.serve.app import make_app
from sparsecrf.contrib.serve.limits import Limits
from sparsecrf.contrib.serve.models import ServedModels
from sparsecrf.contrib.serve.server import serve

__all__ = ["Limits", "ServedModels", "make_app", "serve"]
