"""A JVM of the tests compiles little: a handful of rows is read before anything compiled for them would be done."""

JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
FOR_SMALL_QUERIES = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.databricks.delta.merge.materializeSource": "none",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
}
