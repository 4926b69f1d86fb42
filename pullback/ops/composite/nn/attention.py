"""Scaled dot-product attention and multi-head attention."""

import math

from pullback.ops.composite.checks import require_arrays


# -- one attention ---------------------------------------------------------------------------------------------------
def safe_softmax(scores, ops):
    """softmax along the last dimension; 0 in a row of -inf alone, which attends to nothing, and no gradient there."""
    dead = ops.all(ops.eq(scores, -math.inf), -1, True)
    return ops.where(dead, 0.0, ops.softmax(ops.where(dead, 0.0, scores), -1))


def attention_weights(query, key, bias, is_causal, scale, ops):
    """softmax(scale query key^T + bias), the causal part of it if asked for."""
    scores = ops.matmul(query * scale, ops.transpose(key, -2, -1))
    if is_causal:
        scores = ops.where(ops.causal_mask(scores), scores, -math.inf)
        return ops.softmax(scores, -1)  # every row sees the first key
    if bias is None:
        return ops.softmax(scores, -1)
    if bias.dtype.kind == "b":
        return safe_softmax(ops.where(bias, scores, -math.inf), ops)
    return safe_softmax(scores + bias, ops)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False, ops
):
    """softmax(scale query key^T + mask) value; scale is 1 / sqrt(features) by default."""
    require_arrays("scaled_dot_product_attention", query=query, key=key, value=value, attn_mask=attn_mask)
    check_attention(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = (heads_for(query, x, ops) for x in (key, value))
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    weights = attention_weights(query, key, attn_mask, is_causal, scale, ops)
    if dropout_p > 0:
        weights = ops.native_dropout(weights, dropout_p, True)[0]
    return ops.matmul(weights, value)


def check_attention(query, key, value, attn_mask, is_causal):
    """Refuse what is no attention."""
    if attn_mask is not None and is_causal:
        raise RuntimeError("scaled_dot_product_attention(): pass attn_mask or is_causal=True, not both.")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "scaled_dot_product_attention(): query, key and value must have at least 2 dimensions, (..., L, E), but "
            f"have {query.shape}, {key.shape} and {value.shape}."
        )
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "scaled_dot_product_attention(): query, key and value must have the same dtype, but have "
            f"{query.dtype}, {key.dtype} and {value.dtype}."
        )


def heads_for(query, x, ops):
    """The heads of x (dimension -3) repeated until there is one for each head of the query."""
    heads, many = x.shape[-3], query.shape[-3]
    if many % heads:
        raise RuntimeError(
            f"scaled_dot_product_attention(): {many} heads of the query cannot share {heads} heads of key or value."
        )
    shape = (*x.shape[:-2], many // heads, *x.shape[-2:])
    return ops.reshape(ops.expand(ops.unsqueeze(x, -3), shape), (*x.shape[:-3], many, *x.shape[-2:]))


# -- many heads ------------------------------------------------------------------------------------------------------
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
    *,
    ops,
):
    """Attention of several heads at once on projections of query, key and value (L, N, E) or (L, E); its weights."""
    require_arrays("multi_head_attention_forward", query=query, key=key, value=value)
    check_heads(query, key, value, embed_dim_to_check, num_heads, key_padding_mask)
    if is_causal and attn_mask is None:
        raise RuntimeError("multi_head_attention_forward(): is_causal=True is a hint about attn_mask; pass that too.")
    single = query.ndim == 2
    if single:
        query, key, value = (ops.unsqueeze(x, 1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else ops.unsqueeze(key_padding_mask, 0)
    length, batch, features = query.shape
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        weights = ops.chunk(in_proj_weight, 3)
    biases = (None, None, None) if in_proj_bias is None else ops.chunk(in_proj_bias, 3)
    query, key, value = (ops.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
    extra = 0
    if bias_k is not None and bias_v is not None:  # one more key and value, the same for every input
        key, value = (ops.cat([x, ops.expand(b, (1, batch, features))]) for x, b in ((key, bias_k), (value, bias_v)))
        extra += 1
    query = by_heads(query, num_heads, ops)
    key = by_heads(key, num_heads, ops) if static_k is None else static_heads(static_k, batch, num_heads, ops)
    value = by_heads(value, num_heads, ops) if static_v is None else static_heads(static_v, batch, num_heads, ops)
    if add_zero_attn:
        key, value = (ops.constant_pad_nd(x, [0, 0, 0, 1], 0.0) for x in (key, value))
        extra += 1
    bias = attention_bias(attn_mask, key_padding_mask, (batch, num_heads, length), extra, query.dtype, ops)
    attended = attention_weights(query, key, bias, False, 1 / math.sqrt(query.shape[-1]), ops)
    if training and dropout_p > 0:
        attended = ops.native_dropout(attended, dropout_p, True)[0]
    out = ops.reshape(ops.permute(ops.matmul(attended, value), (2, 0, 1, 3)), (length, batch, features))
    out = ops.linear(out, out_proj_weight, out_proj_bias)
    shown = None
    if need_weights:
        shown = ops.mean(attended, 1) if average_attn_weights else attended
        shown = ops.squeeze(shown, 0) if single else shown
    return (ops.squeeze(out, 1) if single else out), shown


def check_heads(query, key, value, embed_dim, num_heads, key_padding_mask):
    """Refuse shapes that multi-head attention has no meaning for."""
    name = "multi_head_attention_forward"
    if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
        raise RuntimeError(
            f"{name}(): query, key and value must all have shape (L, N, E) or all (L, E), but have {query.shape}, "
            f"{key.shape} and {value.shape}."
        )
    if query.shape[-1] != embed_dim or embed_dim % num_heads:
        raise RuntimeError(
            f"{name}(): query must have {embed_dim} features, a multiple of {num_heads} heads, but has {query.shape}."
        )
    if key.shape[0] != value.shape[0]:
        raise RuntimeError(f"{name}(): key {key.shape} and value {value.shape} must have the same length.")
    if key_padding_mask is not None and key_padding_mask.ndim != query.ndim - 1:
        raise RuntimeError(f"{name}(): key_padding_mask must have shape (N, S), or (S,), not {key_padding_mask.shape}.")


def by_heads(x, heads, ops):
    """(L, N, E) as (N, heads, L, E / heads)."""
    length, batch, features = x.shape
    return ops.permute(ops.reshape(x, (length, batch, heads, features // heads)), (1, 2, 0, 3))


def static_heads(x, batch, heads, ops):
    """Given keys or values (N heads, S, E / heads) as (N, heads, S, E / heads)."""
    return ops.reshape(x, (batch, heads, *x.shape[1:]))


def attention_bias(attn_mask, key_padding_mask, sizes, extra, dtype, ops):
    """The bias added to the scores (N, heads, L, S): -inf where a bool mask is True, nothing for the extra keys."""
    batch, heads, length = sizes
    bias = None
    if attn_mask is not None:
        bias = as_bias(attn_mask, dtype, ops)
        if bias.ndim == 3:
            bias = ops.reshape(bias, (batch, heads, length, bias.shape[-1]))
        bias = ops.constant_pad_nd(bias, [0, extra], 0.0) if extra else bias
    if key_padding_mask is not None:
        padding = as_bias(key_padding_mask, dtype, ops)
        padding = ops.constant_pad_nd(padding, [0, extra], 0.0) if extra else padding
        padding = ops.reshape(padding, (batch, 1, 1, padding.shape[-1]))
        bias = padding if bias is None else bias + padding
    return bias


def as_bias(mask, dtype, ops):
    """A bool mask as numbers to add: -inf where it is True."""
    return ops.where(mask, dtype.type(-math.inf), dtype.type(0)) if mask.dtype.kind == "b" else mask
