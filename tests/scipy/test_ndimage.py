"""scipy.ndimage's functions inside of transforms give the numbers that SciPy gives outside of them."""

import numpy as np
import pytest
from scipy import ndimage

import pullback as pb
from pullback.core.errors import UnsupportedError

MODES = ("reflect", "grid-mirror", "mirror", "nearest", "constant", "wrap", "grid-wrap", "grid-constant")
RANDOM = np.random.default_rng(3)
IMAGES = {
    shape: RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)
    for shape in ((7,), (2,), (1,), (4, 5), (3, 4, 2))
}


@pytest.fixture(scope="module", autouse=True)
def adopting():
    with pb.adopt():
        yield


def agree(f, x, atol=1e-10):
    """The value inside of vjp is the plain one."""
    expected, found = f(x), np.asarray(pb.func.vjp(f, x)[0])
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=atol)


def transforms(shape, **options):
    """The functions that interpolate, with places inside of the image and beyond, also halfway between elements."""
    n = len(shape)
    ends = np.array(shape)[:, None]
    places = np.random.default_rng(5).uniform(-2.3 * ends, 3.3 * ends, (n, 30))
    steep = np.eye(n) * 1.3 + 0.2 * np.arange(n * n).reshape(n, n) / n
    return [
        lambda x: ndimage.map_coordinates(x, places, **options),
        lambda x: ndimage.map_coordinates(x, np.round(2 * places) / 2, **options),
        lambda x: ndimage.map_coordinates(x, places.astype(np.float32), **options),
        lambda x: ndimage.shift(x, (1.5, -0.7, 4)[:n], **options),
        lambda x: ndimage.affine_transform(x, steep, -1.3, **options),
        lambda x: ndimage.affine_transform(x, np.diag(steep), -1.5, **options),
        lambda x: ndimage.zoom(x, 1.7, **options),
        lambda x: ndimage.zoom(x, 1.7, grid_mode=True, **options),
        *(
            lambda x, degrees=degrees: ndimage.rotate(x, degrees, axes=(0, n - 1), **options)
            for degrees in ((33, 90) if n > 1 else ())
        ),
    ]


@pytest.mark.filterwarnings("ignore:It is recommended to use mode")
@pytest.mark.parametrize("prefilter", [True, False])
@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", IMAGES)
def test_interpolation_agrees_with_scipys_inside_and_beyond_the_image(shape, mode, order, prefilter):
    for f in transforms(shape, order=order, mode=mode, prefilter=prefilter, cval=0.7):
        agree(f, IMAGES[shape].real)
        if len(shape) < 3:
            agree(f, IMAGES[shape])


def test_beyond_an_image_that_is_continued_coefficients_count_in_its_gradient():
    """SciPy continues the coefficients, not the coordinate: their weights at 4.3 are those of 3, 4, 5 and 6."""
    image = np.arange(5.0) ** 2
    options = {"order": 3, "mode": "nearest", "prefilter": False}
    row = pb.func.grad(lambda x: ndimage.map_coordinates(x, [[4.3]], **options)[0])(image)
    expected = [ndimage.map_coordinates(unit, [[4.3]], **options)[0] for unit in np.eye(5)]
    np.testing.assert_allclose(row, expected, atol=1e-14)
    slope = pb.func.grad(lambda at: ndimage.map_coordinates(image, [[at]], **options)[0])(4.3)
    low, high = (ndimage.map_coordinates(image, [[4.3 + h]], **options)[0] for h in (-1e-5, 1e-5))
    assert slope == pytest.approx((high - low) / 2e-5, rel=1e-8)


def test_a_stack_is_rotated_plane_by_plane():
    stack, angle = IMAGES[3, 4, 2].real, 33.0

    def total(stack, angle):
        return np.sum(np.sin(ndimage.rotate(stack, angle, axes=(0, 1), order=5, mode="reflect")))

    def by_planes(stack, angle):
        planes = [ndimage.rotate(stack[..., i], angle, order=5, mode="reflect") for i in range(2)]
        return np.sum(np.sin(np.stack(planes)))

    for transform in (pb.func.grad, pb.func.hessian):
        for argnums in (0, 1):
            found, expected = (transform(f, argnums)(stack, angle) for f in (total, by_planes))
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    moved = pb.func.jvp(total, (stack, angle), (np.cos(stack), 1.0))[1]
    assert moved == pytest.approx(pb.func.jvp(by_planes, (stack, angle), (np.cos(stack), 1.0))[1], rel=1e-10)


def test_a_right_angle_leaves_no_element_beyond_the_border():
    agree(lambda x: ndimage.rotate(x, 90.0, order=1, cval=100.0), IMAGES[4, 5].real)


def test_an_element_that_scipy_leaves_beyond_the_border_by_a_rounding_is_there_too():
    agree(lambda x: ndimage.zoom(x, 26 / 8, order=1, cval=100.0), np.ones(8))


@pytest.mark.parametrize("cval", [np.nan, np.inf, 1e20])
def test_a_constant_beyond_the_image_leaves_no_trace_in_it(cval):
    image = IMAGES[4, 5].real
    for f in (
        lambda x: ndimage.shift(x, 0.3, order=1, mode="grid-constant", cval=cval),
        lambda x: ndimage.shift(x, 0.3, order=3, mode="constant", cval=cval),
        lambda x: ndimage.correlate1d(x, [0.2, 0.7, 0.1], mode="constant", cval=cval),
        lambda x: ndimage.gaussian_filter(x, 0.4, mode="constant", cval=cval),
    ):
        agree(f, image)


def test_the_standard_deviation_of_equal_elements_has_slope_zero():
    """As np.std has it: of a label with one element, and of one whose elements are equal."""
    x, labels = np.array([3.0, 1.0, 2.0, 5.0, 5.0]), [1, 2, 2, 3, 3]

    def f(x):
        return ndimage.standard_deviation(x, labels, [1, 2, 3, 4])

    with np.errstate(invalid="ignore"):
        agree(f, x)  # of a label without elements it is nan
        rows = pb.func.jacrev(f)(x)
    np.testing.assert_allclose(rows[:3], [[0, 0, 0, 0, 0], [0, -0.5, 0.5, 0, 0], [0, 0, 0, 0, 0]], atol=1e-14)
    assert pb.func.grad(ndimage.standard_deviation)(x)[3] == pytest.approx(pb.func.grad(np.std)(x)[3])


MORPHOLOGY = (
    "grey_erosion", "grey_dilation", "grey_opening", "grey_closing", "white_tophat", "black_tophat",
    "morphological_gradient", "morphological_laplace",
)  # fmt: skip
STRUCTURE = np.random.default_rng(2).standard_normal((2, 3))


@pytest.mark.parametrize("name", MORPHOLOGY)
def test_grey_morphology_is_differentiable_in_the_image_and_in_the_structure(name):
    image, footprint = IMAGES[4, 5].real, np.array([[1, 0, 1], [1, 1, 0]])
    f = getattr(ndimage, name)
    for mode in MODES:
        for options in ({}, {"footprint": footprint}, {"origin": (0, -1)}):
            agree(lambda x, o=options, m=mode: f(x, structure=STRUCTURE, mode=m, cval=0.3, **o), image)
            agree(lambda s, o=options, m=mode: f(image, structure=s, mode=m, cval=0.3, **o), STRUCTURE)
        agree(lambda x, m=mode: f(x, footprint=footprint, mode=m), image)
    agree(lambda x: f(x, structure=STRUCTURE[0], axes=(1,)), image)
    inputs = [pb.tensor(x, requires_grad=True) for x in (image, STRUCTURE)]
    assert pb.autograd.gradcheck(lambda x, s: f(x, structure=s, mode="constant", cval=0.3), inputs)


def test_a_structure_of_an_image_of_integers_says_what_to_write():
    with pytest.raises(UnsupportedError, match=r"image of integers.*image\.astype\(float\)"):
        pb.func.grad(lambda s: np.sum(ndimage.grey_dilation(np.arange(4), structure=s)))(np.ones(3))


@pytest.mark.parametrize("name", ["maximum_filter", "minimum_filter", "median_filter"])
def test_axes_in_another_order_take_windows_as_scipy_does(name):
    """A full window of minima or maxima follows the axes, any other belongs to them in rising order."""
    for options in ({"size": (2, 3)}, {"footprint": np.ones((2, 3))}, {"footprint": [[1, 0, 1], [0, 1, 1]]}):
        for origin in (0, (0, -1)):
            for shape, axes in (((4, 5), (1, 0)), ((3, 4, 2), (2, 0))):
                agree(
                    lambda x, o=options, origin=origin, axes=axes: getattr(ndimage, name)(
                        x, axes=axes, origin=origin, **o
                    ),
                    IMAGES[shape].real,
                )


@pytest.mark.parametrize("name", ["correlate", "convolve"])
def test_axes_in_another_order_take_weights_and_origins_as_scipy_does(name):
    """They belong to the axes in rising order; the origins only where all axes are filtered."""
    f = getattr(ndimage, name)
    for shape, axes in (((4, 5), (1, 0)), ((3, 4, 2), (2, 0))):
        for origin in (0, (0, -1)):
            agree(lambda x, o=origin, a=axes: f(x, STRUCTURE, axes=a, origin=o, mode="wrap"), IMAGES[shape].real)


@pytest.mark.filterwarnings("ignore:promoting specified output dtype to complex")
def test_results_have_scipys_dtype():
    image, weights = IMAGES[4, 5], np.array([1, 2j, 3])
    agree(lambda x: ndimage.correlate1d(x, weights), image.real.astype(np.float32), 1e-5)
    agree(lambda x: ndimage.correlate1d(x, weights, output=np.float32), image, 1e-5)
    agree(lambda x: ndimage.zoom(x, 2, order=1, output=np.float32), image, 1e-5)
    agree(lambda x: ndimage.spline_filter(x, 3), image)
    agree(lambda x: ndimage.fourier_shift(x, 1.3), image.real.astype(np.float32), 1e-5)
    agree(lambda x: ndimage.sum_labels(x, np.arange(20).reshape(4, 5) % 3, [0, 1, 2]), image.real.astype(np.float32))
    for dtype in (int, np.uint8, np.int8):
        agree(lambda x, dtype=dtype: ndimage.shift(x, 0.0, order=1, output=dtype), 200.5 * np.round(image.real))
        agree(lambda x, dtype=dtype: ndimage.shift(x, 0.3, order=3, output=dtype), 5 * image.real)
        agree(lambda x: ndimage.correlate1d(x, [1, 2, 3], output=int), 5 * image.real)
