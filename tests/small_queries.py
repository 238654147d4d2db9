"""A JVM of the tests compiles little: a handful of rows is read before anything compiled for them would be done."""

JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
FOR_SMALL_QUERIES = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.databricks.delta.merge.materializeSource": "none",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
}
IN_ONE_PARTITION = {
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
}
"""A task costs more than its few rows. The Spark Connect server goes without, and shuffles rows among several."""
