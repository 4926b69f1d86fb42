"""Statements of which random programs are made, one a line; `|` breaks the line.

A letter that stands alone is filled in: `a` and `b` are arrays, `w` is one that is written into, `n` a new one, `c` and
`d` numbers. The arguments are `x`, `y`, whole numbers `i`, a mask `m`, `s` without dimensions, `e` without elements,
a float `q`, a whole number `k`; `g` is an array that the program reads besides.
"""

BOTH = """
n = xp.sin(a)
n = xp.tanh(a) * c
n = xp.exp(-a * a)
n = a + b
n = a * b
n = a - c
n = a / (1.5 + b * b)
n = xp.where(a > c, a, b)
n = xp.where(a > 0, xp.sqrt(abs(a)), b)
n = xp.maximum(a, b)
n = a.sum()
n = a.sum(0)
n = a.mean(-1)
n = xp.amax(a, 0)
n = a.max()
n = xp.cumsum(a, 0)
n = xp.stack([a, a * c])
n = xp.stack([a, b])[1:]
n = a @ b
n = a[1:]
n = a[:2]
n = a[::2]
n = a[..., 0]
n = a[-1]
n = a[None]
n = a.T
n = a.reshape(-1)
n = a[[1, 0, 1]]
n = a[i]
n = a[m]
n = a[a > c]
n = a[a > c].sum()
n = xp.where(m, a, c)
n = a[xp.argsort(b)]
n = a[xp.argmax(b)]
n = xp.zeros(3)
n = xp.ones((3, 3))
n = xp.ones_like(a)
n = xp.zeros(3) + a.sum()
n = (a > b) * c
w[1:] = c
w[0] = a
w[0] = b.sum()
w[:2] = a
w[...] = a
w[w > c] = d
w[m] = c
w[m] = a
w[i] = a
w[i[0]] = c
w[::2] += a
w[1:] = w[:-1]
w[w < 0] *= -1
w += a
w *= c
w -= a * b
w[-1] += a.sum()
if a.sum() > c:|    w[0] = b|else:|    w *= 0.5
if (a > c).any():|    w[1:] += d
n = a * 2 if b.max() > c else a - 1
for j in range(3):|    w[j] = a.sum() * j
for j in range(2):|    n = a * 0.5 + b|    w += n
n = a|while (n * n).sum() > 2:|    n = n * 0.5
n = xp.zeros(a.shape)|for j in range(len(a)):|    n[j] = a[j] * b.sum()
n = xp.zeros((3, 3))|n[1] = a|n[:, 2] = b
n = a|n = n * 1|n[0] = c
n = a * s
n = s * c + a.sum()
n = s
n = a * q
n = q * c + a.mean()
n = a * k
n = a ** k
n = a + g
n = g[1:] * a
n = xp.where(m, g, a)
n = a * e.sum()
n = e + a
n = e.sum(0) + a
n = xp.zeros(0)
n = a[:0]
n = a[a > 1e6]
n = a[:0].sum() + b
n = xp.where(a > 0, xp.log(a), b)
n = xp.where(a != 0, 1 / a, c)
n = xp.where(a == 0, xp.ones_like(a), xp.sin(a) / a)
n = xp.where(a > c, a ** 0.5, a)
n = xp.where(abs(a) > 0, xp.sqrt(a * a), 0.0)
n = xp.where(a >= 0, xp.log1p(a), xp.exp(a))
n = xp.where(a < 1, xp.arcsin(a), c)
n = xp.where(m, a / b, 0.0)
n = xp.where(m, 1 / s, a)
n = abs(a)
n = abs(a - b)
n = xp.sqrt(a * a + c)
n = a ** 2
n = a ** 2.0
n = a ** 3
n = a ** -1
n = 2.0 ** a
n = abs(a) ** abs(b)
n = abs(a) ** 1.5
n = 1 / (a + 0.3)
n = xp.sqrt(xp.sum(a * a))
n = xp.arctan2(a, b)
n = xp.hypot(a, b)
n = xp.logaddexp(a, b)
n = xp.minimum(a, c * b)
n = xp.floor(a)
n = xp.sign(a)
n = a % 1.5
n = a // 0.75
n = xp.fmod(a, 0.75)
n = xp.prod(a)
n = xp.prod(a, 0)
n = xp.cumprod(a, 0)
n = a.var()
n = a.std(0)
n = a.min(-1)
n = xp.log(abs(a) + 0.1)
n = xp.expm1(a)
n = xp.cos(a) + xp.cosh(b)
n = xp.where(a > c, 1, 0)
n = (a > c) & (b < d)
n = (a > c) | m
n = ~(a > b)
n = a == b
n = (a > c).sum()
n = xp.nan_to_num(a / b)
n = xp.isnan(a / b) * c
n = xp.isfinite(1 / a)
n = xp.real(a)
n = xp.imag(a)
n = xp.conj(a) * b
n = a + 1j * b
n = xp.real(a * (1 + c * 1j))
n = abs(a * 1j + b)
n = xp.angle(a)
n = xp.exp(1j * xp.real(a))
n = i * c
n = i + k
n = a * i
n = m * a
n = m + i
n = i[m]
n = i % 2 == 0
n = xp.cumsum(m, 0)
n = i.sum() * a
n = i.max()
n = m.sum()
n = xp.tril(a)
n = xp.trace(a)
n = xp.diag(a)
n = xp.linalg.norm(a)
n = xp.linalg.det(a)
n = xp.linalg.solve(a + 3 * xp.eye(3), b)
n = xp.linalg.inv(a)
n = xp.outer(a, b)
n = xp.tensordot(a, b, 1)
n = xp.einsum("ij,j->i", a, b)
n = xp.broadcast_to(a, (2, 3, 3))
n = xp.arange(3) * a
n = xp.linspace(0, 1, 3) * a
n = xp.eye(3) @ a
n = xp.full((2, 3), c) * a
n = xp.fft.fft(a)
n = xp.real(xp.fft.ifft(xp.fft.fft(a) * b))
n = xp.roll(a, 1)
n = xp.roll(a, k, 0)
n = xp.zeros_like(a)|n[m] = b
n = xp.zeros_like(a)|n[...] = b|n[1:] += c
n = a * 1|n[n < 0] = 0
n = a * 1|n[i] *= c
n = a * 1|n[1:] -= n[:-1] * c
n = a * 1|p = n[1:]|p *= b
n = a * 1|p = n.T|p[0] = c
n = a * 1|p = n.reshape(-1)|p[1] = b.sum()
n = a * 1|n[0] = n[1]|n[1] = n[0] * b.sum()
n = a[m] * 1|n[:1] = c
n = a[1:][0]
n = a[:, 1]
n = a[:, None] * b
n = a[i][:, i]
n = a[i, i]
n = a[m][:, m]
n = a[..., ::2]
n = a[1, 1:]
w[:, 0] = a
w[i, i] = c
w[i] += a
w[m] += c
w[m] *= 2
w[m] = a[m]
w[a > c] = b[a > c]
w[a > c] = b.sum()
w[~m] = 0
w[0], w[1] = w[1] * 1, w[0] * 1
w[1] = w[0]
w /= 1.5 + b * b
w **= 2
w[a.sum() > c] = d
w[int(i[0])] = a
w[k] = c
w[:0] = c
w[...] = s
m[0] = True
i[1] = 2
s += c
if m.any():|    n = a * c|else:|    n = b
if i[0] > 0:|    w[0] *= 2
if s > c:|    n = a + s|else:|    n = b * s
if len(a[a > c]) > 1:|    w *= d
if float(a.sum()) > c:|    w += 1
if bool((a == 0).any()):|    n = a + 1|else:|    n = 1 / a
if k > 1:|    n = a * c|else:|    n = a + c
if q > c:|    n = a * q|else:|    n = a
n = a * float(b.sum() > c)
n = a[int(i[1]):]
n = a * len(b[m])
n = sum(v * c for v in a)
n = max(v.sum() for v in a) * b
n = a[0] if a[0].sum() > a[1].sum() else a[1]
n = xp.stack([v * 2 for v in a])
for v in a:|    w += v.sum()
for j in i:|    w[int(j)] += c
for j, v in enumerate(a):|    if v.sum() > c:|        w[j] = v.sum()
n = 0.0|while abs(a.sum()) * n < 1 and n < 3:|    n += 1.0|n = a * n
try:|    n = a[i + k]|except IndexError:|    n = a * c
try:|    n = a[i[0] + 1]|except (IndexError, ValueError):|    n = b * c
try:|    n = xp.linalg.inv(a)|except Exception:|    n = a * c
n = a[i[0] + i[1] - 1]
if a.sum() > 4:|    raise ValueError("too large")
assert b.max() < 2.5
"""
ARRAYS = """
np.add(a, b, out=w)
np.multiply(a, c, out=w)
n = a.copy()
n = np.empty_like(a)|n[...] = b
n = np.linspace(0, 1, 3) * a
n = a * int((b > 0).sum())
n = a.astype(np.float32) * 2
n = np.sort(a)
n = np.diff(a)
n = np.outer(a, b)
n = np.concatenate([a, b])
n = np.clip(a, -c, c)
n = a[::-1]
n = np.flip(a)
n = np.broadcast_to(a, (2, *a.shape))
n = np.add.reduce(a, axis=0)
n = np.einsum("...i,i->...", a, b)
n = a.ravel()
n = np.unique(np.round(a))
w.fill(c)
w.sort()
w[::-1] = a
np.copyto(w, a)
np.copyto(w, a, where=m)
np.sin(a, out=w)
np.add.at(w, i, a)
np.put(w, i, c)
np.putmask(w, m, a)
np.fill_diagonal(w, c)
w.flat[1] = c
w.T[0] = a
w.ravel()[1:] = c
w.reshape(-1)[0] = a.sum()
w.resize(w.shape)
w.itemset(0, 1.0)
np.add(a, b, out=w, where=m)
n = np.where(a > c)[0]
n = np.nonzero(a)[0]
n = np.flatnonzero(a > b)
n = np.count_nonzero(a > c)
n = np.argwhere(a > c)
n = np.array([a[0], b[0]])
n = np.array([a.sum(), c, s])
n = np.array([c, d]) * a.sum()
n = np.asarray(a) * 2
n = np.float64(a.sum()) * b
n = np.float32(c) * a
n = np.int64(2) * a
n = a.astype(int)
n = a.astype(bool)
n = a.astype(complex)
n = i.astype(float)
n = i.astype(np.int32) * a
n = np.ptp(a)
n = np.median(a)
n = np.percentile(a, 30)
n = np.average(a, weights=b * b + 1)
n = np.interp(c, np.arange(3.0), a)
n = np.searchsorted(np.sort(a), c)
n = np.digitize(a, [0.0, 1.0])
n = np.histogram(a, 3)[0]
n = np.bincount(i)
n = np.bincount(i, a)
n = np.round(a, 1)
n = np.rint(a)
n = np.trunc(a) + np.ceil(b)
n = np.fix(a)
n = np.modf(a)[0]
n, p = np.modf(a)
n, p = np.divmod(a, 0.75)
n = np.divide(a, b, out=np.zeros_like(a), where=b != 0)
n = np.sqrt(a, where=a > 0, out=np.ones_like(a))
n = np.heaviside(a, 0.5)
n = np.sinc(a + 0.1)
n = np.cbrt(a)
n = np.square(a)
n = np.reciprocal(a)
n = np.power(a, 2)
n = np.float_power(abs(a), 0.5)
n = np.exp2(a)
n = np.log2(abs(a) + 1)
n = np.select([a > c, a > d], [a, b], 0.0)
n = np.piecewise(a, [a < 0, a >= 0], [lambda t: -t, lambda t: t * 2])
n = np.choose(i, [a, b, c])
n = np.take(a, i, axis=0)
n = np.take_along_axis(a, np.argsort(a, -1), -1)
n = np.compress(m, a)
n = np.extract(a > c, a)
n = np.delete(a, 0)
n = np.insert(a, 1, c)
n = np.append(a, c)
n = np.repeat(a, 2)
n = np.tile(a, 2)
n = np.pad(a, 1)
n = np.pad(a, 1, mode="edge")
n = np.hstack([a, b])
n = np.vstack([a, b])
n = np.column_stack([a, b])
n = np.split(a, 3)[1]
n, p = np.array_split(a, 2)
n = np.swapaxes(a, 0, -1)
n = np.moveaxis(a, 0, -1)
n = np.squeeze(a[None])
n = np.expand_dims(a, -1)
n = np.atleast_2d(a)
n = np.kron(a, b)
n = np.cross(a, b)
n = np.inner(a, b)
n = np.vdot(a, b)
n = np.dot(a, b)
n = a.dot(b)
n = np.gradient(a)[0]
n = np.trapezoid(a)
n = np.convolve(a, b)
n = np.meshgrid(a, b)[0]
n = np.triu(a)
n = np.rot90(a)
n = np.linalg.cholesky(a @ a.T + np.eye(3))
n = np.linalg.eigvalsh(a + a.T)
n = np.linalg.qr(a)[1]
n = np.linalg.slogdet(a)[1]
n = np.linalg.matrix_power(a, 2)
n = np.linalg.norm(a, axis=-1)
n = np.linalg.norm(a, 1)
n = np.fft.rfft(a)
n = np.fft.irfft(np.fft.rfft(a), 3)
n = np.maximum.accumulate(a)
n = np.add.accumulate(a)
n = np.multiply.outer(a, b)
n = np.maximum.reduce(a)
n = np.any(a > c)
n = np.all(a > c, axis=0)
n = np.allclose(a, b)
n = np.array_equal(a, b) * a
n = np.isclose(a, b)
n = np.nanmax(a)
n = np.nansum(a / b)
n = np.lexsort((a, b))
n = np.partition(a, 1)
n = np.argmin(a)
n = np.unravel_index(a.argmax(), a.shape)[0]
n = a.argsort()
n = a.tolist()[0] * b
n = a.item(0) * b
n = a.sum().item() * b
n = a.clip(0)
n = a.swapaxes(0, -1)
n = a.real * 2
n = a.imag
n = a.conj()
n = a.flatten()
n = a.size * b
n = a.shape[0] * b
n = a.ndim * b
n = a.mean(axis=0, keepdims=True)
n = a.sum(dtype=np.float32)
n = a.max(initial=c)
n = a.sum(where=m)
n = a.mean(where=a > c)
n = np.s_[1:]|n = a[n]
n = np.ix_(i, i)|n = a[n]
n = np.r_[a, c]
n = np.c_[a, b]
n = np.int8(3) * a
n = np.bitwise_and(i, 1)
n = i & 1
n = i << 1
n = -i
n = i / 2
n = i // 2
n = i ** 2
n = np.invert(m)
n = np.sum(m)
n = np.mean(m)
n = np.mean(i)
n = m ^ (a > c)
n = np.vectorize(lambda t: t * t if t > 0 else -t)(a)
n = np.apply_along_axis(lambda t: t * t.sum(), 0, a)
n = np.fromiter((t * c for t in a), float)
n = np.frompyfunc(lambda t: t * 2, 1, 1)(a).astype(float)
n = math.exp(-abs(s)) * a
n = math.sqrt(abs(a.sum())) * b
n = math.floor(a.sum()) * b
n = math.atan2(s, a.max()) * b
"""
TENSORS = """
w.add_(a)
w.mul_(a)
w.sub_(a, alpha=2)
w.zero_()
w.copy_(a)
w.masked_fill_(w > c, d)
w.clamp_(-1, 1)
w.relu_()
w.exp_().mul_(0.25)
w[1:].mul_(c)
w.select(0, 1).fill_(c)
w.t().add_(a)
w.index_add_(0, i, a)
w.index_fill_(0, i, c)
w.addcmul_(a, b, value=0.5)
n = a.clone()
n = a.detach()
n = a.view(-1)
n = a.transpose(0, -1)
n = a.unsqueeze(-1)
n = a.expand(2, *a.shape)
n = a.narrow(0, 1, 2)
n = a.diagonal()
n, p = a.sort(0)
n = a.flip(0)
n = pb.cat([a, b])
n = a.softmax(-1)
n = a.logsumexp(0)
n = a.index_select(0, i)
n = a.norm()
n = a.unbind(0)[1]
n = a.detach() * b
n = a.detach()|n = n * b
n = (a * b).detach() + a
with pb.no_grad():|    n = a * b
with pb.no_grad():|    w.mul_(c)
with pb.enable_grad():|    n = a * b
n = a.double()
n = a.float() * 2
n = a.long()
n = a.bool()
n = a.to(pb.complex128)
n = i.double()
n = i.float() * a
n = a.item() * b
n = a.sum().item() * b
n = a.tolist()[0] * b
n = a.relu()
n = a.sigmoid()
n = a.abs().sqrt()
n = a.clamp(-1, 1)
n = a.clamp(min=c)
n = a.masked_fill(m, c)
n = a.masked_fill(a > c, d)
n = a.masked_select(m)
n = a.where(a > c, b)
n = a.gather(0, i)
n = a.take(i)
n = a.scatter(0, i, b)
n = a.scatter_add(0, i, b)
n = a.index_add(0, i, b)
n = a.index_copy(0, i, b)
n = a.index_put((i,), b)
n = a.index_put((i,), b, accumulate=True)
n = a.nonzero()
n = a.count_nonzero()
n = a.topk(2)[0]
n, p = a.topk(2)
n = a.kthvalue(1, 0)[0]
n = a.median()
n = a.mode(0)[0]
n, p = a.max(0)
n, p = a.min(-1, keepdim=True)
n = a.argmax()
n = a.cummax(0)[0]
n = a.cumsum(0).flip(0)
n = a.log_softmax(-1)
n = a.squeeze()
n = a.permute(*range(a.dim())[::-1])
n = a.movedim(0, -1)
n = a.unfold(0, 2, 1)
n = a.as_strided((2, 2), (1, 1))
n, p = a.split([1, 2])
n, p, v = a.unbind(0)
n = a.chunk(3)[1]
n = a.repeat(2, *[1] * (a.dim() - 1))
n = a.repeat_interleave(2)
n = a.roll(1, 0)
n = a.tril()
n = a.t() @ b
n = a.mm(b)
n = a.mv(b)
n = a.addmm(b, a)
n = a.dot(b)
n = a.norm(dim=-1)
n = a.norm(1)
n = a.std(0)
n = a.var(unbiased=False)
n = a.prod(0)
n = a.round()
n = a.frac()
n = a.lerp(b, c)
n = a.dist(b)
n = a.new_zeros(3)|n[0] = b.sum()
n = a.new_tensor([1.0, 2.0, 3.0]) * b
n = pb.tensor([c, d]) * a.sum()
n = pb.tensor(c) * a
n = pb.nn.functional.relu(a)
n = pb.nn.functional.softplus(a)
n = pb.nn.functional.gelu(a)
n = pb.nn.functional.mse_loss(a, b)
n = pb.nn.functional.layer_norm(a, (3,))
n = pb.nn.functional.huber_loss(a, b)
n = pb.nn.functional.pad(a, (1, 1))
n = pb.nn.functional.linear(a, b)
n = pb.nn.functional.one_hot(i, 3) * a
n = pb.vstack([a, b])
n = pb.cdist(a, b)
n = pb.addcdiv(a, b, b * b + 1)
n = pb.linalg.cholesky(a @ a.T + pb.eye(3))
n = pb.linalg.eigvalsh(a + a.T)
n = pb.linalg.svdvals(a)
n = pb.linalg.qr(a)[1]
n = pb.linalg.vector_norm(a, 3)
n = pb.linalg.slogdet(a)[1]
n = pb.bincount(i)
n = pb.searchsorted(a.sort().values, b)
n = pb.heaviside(a, b)
n = pb.special.erf(a)
n = pb.lgamma(abs(a) + 1)
n = pb.polygamma(1, abs(a) + 1)
n = pb.nansum(a / b)
n = pb.complex(a, b)
n = pb.polar(abs(a), b)
n = pb.view_as_real(a * (1 + 2j))
n = pb.autograd.functional.jacobian(lambda t: t * t, a)
w.sin_()
w.neg_().add_(c)
w.pow_(2)
w.sqrt_()
w.div_(b)
w.lerp_(a, 0.5)
w.masked_fill_(m, c)
w.scatter_(0, i, a)
w.scatter_add_(0, i, a)
w.index_put_((i,), a)
w.index_put_((i,), a, accumulate=True)
w.index_copy_(0, i, a)
w.fill_diagonal_(c)
w.tril_()
w.round_()
w.transpose_(0, 1)
w.unsqueeze_(0)
w.squeeze_()
w.t_()
w.requires_grad_(False)
w.detach_()
w.data.mul_(c)
w.detach().mul_(c)
w.cumsum_(0)
w.addcdiv_(a, b * b + 1)
w.view(-1)[1:3].mul_(c)
w.diagonal().zero_()
w.T[1:] += c
w.unbind(0)[1].mul_(c)
w[m].mul_(2)
w[1:][0].add_(a.sum())
w.clamp_(min=c)
w.floor_()
w.logical_not_()
w.bernoulli_(0)
"""


def templates(text):
    return [line.replace("|", "\n") for line in text.strip().split("\n")]


# What gives another dtype of truth values inside of transforms than NumPy does, and so in compiled functions.
OTHERWISE_OF_BOOLS = ("**",)

TEMPLATES = {"array": templates(BOTH) + templates(ARRAYS), "tensor": templates(BOTH) + templates(TENSORS)}


def substituted(template, words):
    """The template with names for its letters that stand alone."""
    out, word = [], ""
    for ch in template + " ":
        if ch.isalnum() or ch in "_.":
            word += ch
            continue
        first, dot, rest = word.partition(".")
        out.append(words.get(first, first) + dot + rest if word else "")
        out.append(ch)
        word = ""
    return "".join(out)[:-1]
