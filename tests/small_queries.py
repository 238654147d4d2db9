"""A JVM of the tests compiles little: a handful of rows is read before anything compiled for them would be done."""

FOR_SMALL_QUERIES = {
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
    "spark.databricks.delta.merge.materializeSource": "none",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
}
