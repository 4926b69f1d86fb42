"""Which file is a library's: that of any site directory, not NumPy's alone."""

import sys

import pytest

import pullback as pb
from pullback.core.errors import DetachingError


@pytest.mark.parametrize("site", ["site-packages", "dist-packages"])
def test_a_library_in_another_site_directory_is_not_the_users(site, tmp_path, monkeypatch):
    folder = tmp_path / site / "plotter"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("import numpy as np\n\ndef draw(x):\n    return np.asarray(x)\n")
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.delitem(sys.modules, "plotter", raising=False)
    import plotter

    with pytest.raises(DetachingError, match=r"plotter\.draw would make a plain ndarray") as caught:
        plotter.draw(pb.ones(3, requires_grad=True))
    assert f'File "{__file__}"' in str(caught.value)
    assert "Give it plain values: t.detach().numpy()" in str(caught.value)
