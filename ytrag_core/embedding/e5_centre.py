"""The component that all vectors of multilingual-e5-small share; see `ytrag_core.embedding.centre`."""

from __future__ import annotations

__all__ = ["E5_CENTRE"]

E5_CENTRE = (
    "mytUpPCoLKuZLMmmCx4dKH4q+CWVKmkaOiwKpYOrFCgdLK+oJ6ihqzEoxJzPqWkrvStQK8KpOCmCKlSsJKphqpEpo6vaK7kp"
    "V6pYqUopYKlCpbMkOCpVLV0ooirxqQopTqufpiyp9CoeJHcpLyffq5aoUqytrAYs1is2kD8bSiaqLDwpeyo/KeGo9qH0qNUq"
    "Uxm0qIIhLyIOKvKoTChqqW+qjqmtqaAoSatpK7Uq8aqkKhafvSoQLK+pSaoPrK2pRakMKbEsNaiYK+iq/CPNqyuqAyksKrKr"
    "Rimiq+uoDSnkJ+QpWqwXqOKhx6ocKqypAipYqVeqcqgOq2qqQik9Jpkl9Bu8Kvsn9x+XJEMp4SzWqVqNrqFkp2KpiigHqgkp"
    "+ihHKTksaKijLMKq3iV1qf8pLCixKiKoQKqRqvso8CoBqmGsq6sNp0ysJKufKUQsGakxqH2lNChAqgYoz5uvK7OoKyj6LDop"
    "b6QtpSis8qr2qquoaKqqJkMh3JzYnpwpKqkRrNSpOyhyq7IpvCkRKYKeBalpJwEmAyvMHoKsHCmTqcgpqyl5rGCrGCtSrGCj"
    "lx6nKnOqfSZ+KGGl2Ce0rd2nsCl9KpOmLqpRJ0ipI6ZwqtKs0Knkq7yd/ye9KbKs8JuQqAYouaz5KsWoa6hxKYCiBCo7KIur"
    "lqhZrMOnpiYYK7UshakAJ3QnPZ6NLQErTyu8Jm2rwqR+q+GhRavoJQcs3qoCqi2oOinFLWypfagBK6ApjylCKi8qQKZ1qJ8p"
    "AKlSpTmmjKiJKrSq0SkNIxWSZSy8qnYrqqjDqVIoxSQ3rWco6B6BIlgllyp0LCMocKmoqDcodykFkoAj1KjFqSmq0KjFpcGq"
    "8ynVJwepd6ilK+AkiCVbqMWphClUq/eoEKr4KWGpEKs1KHUsoabCKg6m86tKJ5GlA6kxKCAlxq3vIQMrjaYnJ46ptakQKXwp"
    "u6uWqD0qGil+Kl0nYJ0GoE4pdqz6KgIqXKpuIIikk6uDqwkrcqr3qW0rGCx3KvIp"
)
"""Centre of multilingual-e5-small: float16, little-endian, in base64; made by benches/e5_centre.py."""
