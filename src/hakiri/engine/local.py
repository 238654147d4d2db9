"""Opens an embedded session: provides Java, jars and the class archive."""

from __future__ import annotations

from pyspark.sql import SparkSession

from hakiri.engine.class_archive import archive_for, build_at_exit, discard, use
from hakiri.engine.jars import provide_jars
from hakiri.engine.java import find_java
from hakiri.engine.launch import has_jvm_died, launch
from hakiri.engine.log import Log
from hakiri.engine.settings import EngineSettings
from hakiri.model.errors import SessionFailed


def open_local(settings: EngineSettings, log: Log) -> SparkSession:
    """Open a session in a JVM of this process. Raises JavaMissing, JarsUnavailable or SessionFailed."""
    java = find_java(settings.cache_dir)
    jars = provide_jars(settings, java)
    archive = archive_for(settings.cache_dir, java=java, jars=jars)
    options = use(archive) if _wants_archive(settings) else ()
    try:
        session = launch(settings, java=java, jars=jars, log=log, jvm_options=options).session
    except SessionFailed:
        if not options:
            raise
        if has_jvm_died():  # during the start, so the next process must not use the archive
            discard(archive)
            raise
        # It died silently. The archive is the cause only if the start succeeds without it.
        session = launch(settings, java=java, jars=jars, log=log).session
        discard(archive)
    if _wants_archive(settings) and not archive.is_sealed():
        build_at_exit(archive, settings)
    return session


def _wants_archive(settings: EngineSettings) -> bool:
    # An archive fits one class path, which a user's additions would change.
    return settings.archive and "spark.driver.extraClassPath" not in settings.conf
