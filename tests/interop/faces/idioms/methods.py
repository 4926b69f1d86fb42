"""Every method and attribute of ndarray, with the arguments that NumPy documents, on arrays of each kind."""

import numpy as np

# After the receivers, the calls; what stands without parentheses is asked for alone. T is 3-d, v strided, F in Fortran's order, e and E empty, o 0-d, s and c scalars,
# h single, k and K whole numbers, b bools.
TABLE = {
    "x A T v F e E o s z c h k K i b": """
        T all() any() argmax() argmin() argsort() base conj() conjugate() copy() cumprod() cumsum() device dtype flags.writeable
        imag item() itemsize max() mean() min() nbytes ndim nonzero() prod() ptp() ravel() real reshape(-1) round() shape size
        squeeze() std() strides sum() tolist() transpose() var() flatten() view() view(type=np.ndarray) astype(float)
        astype(np.float32) astype(int) astype(bool) astype(complex) astype(float,copy=False) repeat(2) repeat(np.array([2]))
        clip(0,1) clip(min=0.5) clip(None,1.5) clip(max=1.5) tobytes() sort() swapaxes(0,0) take(0) take([0]) take([]) diagonal()
        trace() fill(1) flat[0] flat[:2] compress([True]) compress([False]) choose([0]) searchsorted(1) dot(2) dot(2.5)
        mean(dtype=np.float32) sum(dtype=complex) sum(keepdims=True) max(keepdims=True) sum(axis=()) sum(axis=0) sum(axis=-1)
        mean(axis=0) mean(axis=0,keepdims=True) mean(None) max(axis=0) max(0) min(axis=-1) std(axis=0) var(ddof=1) std(ddof=1)
        std(axis=-1,ddof=1,keepdims=True) var(axis=0,keepdims=True) argmax(axis=0) argmin(0) argmax(keepdims=True) all(axis=0)
        any(axis=0) cumsum(axis=0) cumsum(0) cumprod(axis=-1) prod(axis=0) prod(keepdims=True) argsort(axis=0) argsort(-1)
        argsort(axis=None) argsort(kind="stable") round(1) round(decimals=1) round(-1) repeat(2,axis=0) repeat(0) repeat(2,-1)
        sum(initial=2) sum(where=False) sum(initial=2,where=True) mean(where=True) max(initial=9) min(initial=-9,where=False)
        prod(initial=3) squeeze(axis=0) squeeze(()) flatten("F") ravel("F") ravel(order="K") ravel("A") copy("F") copy(order="K")
        reshape((-1,)) reshape(1,-1) reshape(-1,1) reshape((-1,1),order="F") reshape(()) reshape([-1]) transpose(None) mT
        swapaxes(0,-1) sum(axis=3) sum(axis=0.5) sum(axis="a") sum(axis=(0,0)) sum(dim=0) sum(nope=1) mean(ddof=1) max(axis=9)
        to_device("cpu") byteswap() getfield(np.float64) flags.c_contiguous flags.f_contiguous flags.owndata data.shape dump
        __len__() __bool__() __float__() __int__() __complex__() __index__() __contains__(1) __copy__()
        __deepcopy__({}) __array__() __array__(float) __abs__() __neg__() __pos__() __invert__() ctypes.data>0 item(0) item(-1) item(99)
        put([0],[5]) put(0,1) itemset nope resize partition(0) argpartition(0) setflags(write=True) setfield(1,float)
        sum(out=None) round(out=None) mean(axis=None,out=None) __array_namespace__() tofile dumps
    """,
    "A F K C": """
        sum(axis=1) sum(axis=(0,1)) sum(1) sum(axis=1,keepdims=True) sum(axis=(1,0),keepdims=True) mean(1) mean((0,1)) std(1)
        std((0,1),ddof=1) var(axis=(0,1)) max(1) min(axis=1,keepdims=True) max((0,1)) argmax(1) argmin(axis=1) argmax(1,keepdims=True)
        cumsum(1) cumprod(1) prod(1) prod((0,1)) any(1) all(axis=(0,1)) T.sum(0) T.copy() sort(axis=0) sort(0) sort(axis=None)
        sort(kind="stable") argsort(0) argsort(axis=1) trace(1) trace(offset=-1) trace(0,1,0) diagonal(1) diagonal(-1)
        diagonal(0,1,0) transpose(1,0) transpose((1,0)) transpose([0,1]) transpose(0) swapaxes(0,1) reshape(-1) reshape(3,-1)
        reshape(1,-1,1) repeat(2,axis=1) repeat([1,2,0],axis=0) take([0,1],axis=1) take(1,axis=0) take([[0]],axis=1)
        take([5,-7],mode="wrap") take([0],axis=0,mode="clip") compress([True,False,True],axis=0) compress([0,1],axis=1)
        dot([1,2,3,4]) dot([[1],[2],[3],[4]]) searchsorted(1) nonzero()[1] clip([0],[1]) clip(0,1,out=None) flat[5] flat[::3]
        flat[[1,3]] partition(1,axis=0) argpartition(1,axis=0) argpartition(1,axis=None) squeeze(0) flatten("C") flatten("A")
        ravel("C") mT.shape sum(where=[True,False,True,True]) mean(axis=0,where=[[True],[False],[True]]) std(where=[[True],[True],[False]])
        item(1,2) item((0,1)) item(7) item(3,3) round(1)[0] astype("f4",order="F").strides copy("F").strides copy("C").strides copy("K").strides
        view(float)[0] view(np.int64) view("f4").shape
    """,
    "T": """
        sum(axis=(0,2)) sum(axis=(0,-1),keepdims=True) mean(axis=(1,2)) std(axis=(0,1)) max(axis=(0,2)) min(axis=(1,2),keepdims=True)
        argmax(axis=2) cumsum(axis=1) transpose(2,0,1) transpose((0,2,1)) swapaxes(0,2) mT T.strides diagonal() diagonal(0,1,2)
        diagonal(axis1=0,axis2=2) diagonal(1,1,2) trace() trace(axis1=1,axis2=2) sort(axis=1) argsort(axis=1) take([0,2],axis=1)
        repeat(2,axis=1) dot([1,2,3,4]) compress([1,0,1],axis=1) squeeze(1) ravel("F") flatten("F") reshape(3,8) reshape(4,-1,2)
        transpose(1,0) all(axis=(0,1)) prod(axis=(0,1)) var(axis=(0,2),ddof=1) tolist() item(0,1,2) flat[7]
    """,
    "x v h z": """
        dot([1,2,3,4]) dot([1,2,3,4,5,6]) take([0,2]) take([[0,1],[2,3]]) take(-1) take([9]) take([9],mode="clip") take(1,axis=0)
        choose([0,1]) searchsorted([0.5,1.5]) searchsorted(1,side="right") searchsorted(1,"left") searchsorted(1,sorter=[0,1,2,3])
        put([0,2],[7,8]) put([0,-1],9) put([9],1) put([9],1,mode="wrap") put([0,1,2],[5]) repeat([1,2,0,1]) compress([1,0,1])
        partition(2) partition([1,3]) argpartition(2) argpartition([1,2]) fill(2.5) fill([1]) fill("a") sort(kind="mergesort")
        sort(0) sort(axis=1) resize(2,2) resize((3,)) resize(8,refcheck=False) reshape(2,2) reshape(2,-1) reshape(5)
        flags.c_contiguous base item(2) item(-1) argsort(order=None) clip([0,1,0,1],2) dot dumps().__class__ setflags(write=False)
        sort(stable=True) argsort(stable=True) setflags(1) choose(1) nonzero()[0]
    """,
    "s t c i": """
        is_integer() as_integer_ratio() hex() real imag conj() conjugate() item() tolist() dtype dtype.type shape ndim size itemsize
        astype(int) astype(complex) round(1) __round__() __round__(1) __floor__() __ceil__() __trunc__() __hash__() __bool__() __float__()
        __int__() __complex__() __format__(".2f") __str__() __pow__(2) __getitem__(()) __array__()
        numerator denominator bit_count() newbyteorder() tobytes() T.shape data.nbytes flags.writeable base
        __class__.__name__ __class__.__mro__ real.dtype sum() mean() max() argmax() std() reshape(1,1) ravel() copy() __copy__()
        __deepcopy__({}) __reduce__()[0] __add__(1) __radd__(1) __eq__(1) __lt__(1) __len__
        append
    """,
}
EXPRESSIONS = "\n".join(
    f"{receiver}.{call}"
    for receivers, calls in TABLE.items()
    for receiver in receivers.split()
    for call in calls.split()
)
