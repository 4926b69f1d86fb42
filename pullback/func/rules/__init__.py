"""Functions with derivative rules of their own, `custom_vjp` and `custom_jvp`, in every transform."""
