"""Sentence pairs from TensorFlow datasets."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from nmt.config import PairsConfig
from nmt.errors import install_command
from nmt.files.digests import digest
from nmt.text.errors import CorpusError
from nmt.text.lines import without_line_breaks

_PROBE_SECONDS = 5.0
"""Time for a server to answer before a download."""
_PROBED_HOSTS = 3
"""Servers of a dataset that are tried."""


def dataset_rows(pairs: PairsConfig) -> Iterator[tuple[bytes, bytes]]:
    """The source and target feature of each example, as bytes, in the library's own order, which is always the same.

    Raises:
        CorpusError: the dataset is unknown, cannot be prepared or read, or lacks the features.
    """
    tfds = _tensorflow_datasets()
    with _errors_of(pairs.tfds):
        builder = _prepare(tfds, pairs)
        source, target = _features(builder, pairs)
        streaming = tfds.ReadConfig(try_autocache=False)  # the cache would hold the dataset in memory
        dataset = builder.as_dataset(split=pairs.split, shuffle_files=False, read_config=streaming)
        dataset = dataset.map(lambda example: (example[source], example[target])).batch(1024).prefetch(2)
        for sources, targets in dataset.as_numpy_iterator():
            sides = (map(without_line_breaks, texts.tolist()) for texts in (sources, targets))
            yield from zip(*sides, strict=True)


def dataset_digests(pairs: PairsConfig) -> dict[str, str]:
    """SHA-256 of the files of a TensorFlow dataset by name, all splits, and the library's version.

    Raises:
        CorpusError: the dataset is unknown, or cannot be prepared or read.
    """
    tfds = _tensorflow_datasets()
    with _errors_of(pairs.tfds):
        files = sorted(path for path in _prepare(tfds, pairs).data_path.iterdir() if path.is_file())
        found = {"tensorflow_datasets": tfds.__version__}  # the version decides the order of the examples
        for path in files:
            with path.open("rb") as file:
                found[path.name] = digest(file)
        return found


def _tensorflow_datasets() -> Any:
    try:
        import tensorflow_datasets
    except ImportError as error:  # the package needs importlib_resources without declaring it
        raise CorpusError(f"TensorFlow datasets cannot be read ({error}): {install_command()}") from None
    return tensorflow_datasets


@contextlib.contextmanager
def _errors_of(dataset: str) -> Iterator[None]:
    """Turns the library's errors, which have many types and many lines, into one line."""
    try:
        yield
    except CorpusError:
        raise
    except Exception as error:
        raise CorpusError(f"{dataset}: {' '.join(str(error).split())[:300] or type(error).__name__}") from error


def _prepare(tfds: Any, pairs: PairsConfig) -> Any:
    """The builder of a dataset, which is downloaded and prepared first if it is not on disk."""
    try:
        builder = tfds.builder(pairs.tfds, data_dir=pairs.tfds_directory or None, try_gcs=False)
    except tfds.core.DatasetNotFoundError:
        raise CorpusError(
            f"{pairs.tfds}: unknown to tensorflow_datasets {tfds.__version__}, and not prepared in "
            f"{pairs.tfds_directory or 'its default directory'}: check the name, or set tfds_directory"
        ) from None
    if not (builder.data_path / "dataset_info.json").exists():
        _refuse_unreachable(builder, pairs.tfds)
        config = tfds.download.DownloadConfig(try_download_gcs=False)
        builder.download_and_prepare(download_config=config)
    return builder


def _refuse_unreachable(builder: Any, name: str) -> None:
    """Refuses within seconds a dataset whose servers do not answer; the library would retry for minutes."""
    downloads = builder.data_dir_root / "downloads"
    if any(downloads.glob(f"{builder.name}/*.INFO")) or any(downloads.glob("manual/*")):
        return
    hosts = {urlsplit(url).netloc: url for url in builder.url_infos or () if url.startswith("http")}
    if hosts and not _any_answers(list(hosts.values())[:_PROBED_HOSTS]):
        raise CorpusError(
            f"{name}: not prepared in {builder.data_dir_root}, and {' '.join(list(hosts)[:_PROBED_HOSTS])} cannot be "
            "reached to download it: prepare it on a machine with network access and set tfds_directory"
        )


def _any_answers(urls: list[str]) -> bool:
    """Whether any of the servers answers. Threads ask them, because resolving a name has no time limit."""
    import requests  # tensorflow_datasets downloads with it: proxies and certificates are the same

    answered = threading.Event()

    def probe(url: str) -> None:
        with contextlib.suppress(requests.RequestException):
            requests.get(url, stream=True, timeout=_PROBE_SECONDS).close()
            answered.set()

    threads = [threading.Thread(target=probe, args=(url,), daemon=True) for url in urls]
    deadline = time.monotonic() + _PROBE_SECONDS
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return answered.is_set()


def _features(builder: Any, pairs: PairsConfig) -> tuple[str, str]:
    """The names of the source and the target feature."""
    names = sorted(name for name, feature in builder.info.features.items() if _is_text(feature))
    source, target = (builder.info.supervised_keys or ("", ""))[:2]
    chosen = pairs.tfds_source or source, pairs.tfds_target or target
    for name in chosen:
        if name not in names:
            problem = f"no text feature '{name}'" if name else "no supervised keys to say what is translated"
            raise CorpusError(f"{pairs.tfds}: {problem}: set tfds_source and tfds_target to two of: {', '.join(names)}")
    return chosen


def _is_text(feature: Any) -> bool:
    return getattr(feature, "shape", None) == () and feature.np_dtype in (object, str)
