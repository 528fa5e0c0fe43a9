"""Called by bench/fleet: fleet.py PROGRAM DIRECTORY check|ROWS."""

import csv, glob, gzip, io, json, math, os, random, re, resource, subprocess, sys, time
import duckdb, pandas, sqlglot

program, work, what = sys.argv[1:]
store, dataset = f"{work}/store/{what}", f"{work}/data/{what}"
with open("docs/guide/many-machines.md") as guide:
    first, *queries = re.findall(r"```sql\n(.*?)```", guide.read(), re.S)
assert len(queries) == 10, f"{len(queries)} queries in the guide"


def export(*arguments):
    command = [program, "--store", store, "results", "export", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def opened():
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    database.execute(first.replace("'bench/", f"'{dataset}/"))
    return database


def check():
    export("--dataset", dataset)
    written = {path: os.stat(path).st_mtime_ns for path in glob.glob(f"{dataset}/*/*/*")}
    export("--dataset", dataset)
    assert written == {path: os.stat(path).st_mtime_ns for path in glob.glob(f"{dataset}/*/*/*")}, "written again"
    names, *rows = csv.reader(io.StringIO(export()))
    numbers = {"value", "low", "high", "link_mbps"}

    def cells(rows):
        as_number = lambda name, cell: float(cell) if name in numbers and cell not in (None, "") else cell or ""
        return sorted([as_number(name, cell) for name, cell in zip(names, row)] for row in rows)

    rows = cells(row for row in rows if row[names.index("ended")] in ("finished", "time up"))
    database = opened()
    columns = ", ".join(name if name != "started_at" else "strftime(started_at, '%Y-%m-%dT%XZ')" for name in names)
    frames = [pandas.read_csv(path, dtype=str, keep_default_na=False) for path in written]
    table = pandas.concat(frames)
    assert list(table.columns) == names
    assert cells(table.itertuples(index=False)) == rows, "pandas reads other rows"
    read = cells(database.execute(f"SELECT {columns} FROM runs").fetchall())
    assert read == rows, f"DuckDB reads other rows: {[pair for pair in zip(read, rows) if pair[0] != pair[1]][:1]}"
    print(f"check: DuckDB and pandas read {len(rows)} rows of {len(written)} files as `results export` writes them")


def name_of(run):
    letters = "23456789bcdfghjkmnpqrstvwxz"
    return "r" + "".join(letters[run // len(letters) ** place % len(letters)] for place in range(5))


def simulate(rows):
    """Makes a store: a real run, with eight estimates, of other drives, machines and months, at other speeds."""
    with gzip.open("tests/fixtures/records/rbase1.jsonl.gz", "rt") as record:
        lines = record.read().splitlines()
    start, plan = (json.loads(line) for line in lines[:2])
    machine_before, drive_before = start["inventory"]["machine"], plan["plan"]["targets"][0]["drives"][0]
    mount = {"path": "/mnt/sda", "root": "/", "source": "/dev/sda1", "options": [], "device": [8, 1], "space": None}
    plan["plan"]["targets"][0]["mount"] = mount
    for run in range(rows // 8):
        machine, month = run % max(1, rows // 1000), run * 24 // (rows // 8)
        drive = 2 * machine + run // max(1, rows // 1000) % 2
        # Each drive has a speed of its own, each run differs a little, and one drive in fifty is slow.
        pace = random.Random(drive).lognormvariate(0, 0.1) * random.Random(-run).lognormvariate(0, 0.02)
        pace *= 1 if drive % 50 else 0.3
        start.update(run=name_of(run), at=f"{2025 + month // 12}-{month % 12 + 1:02}-{run % 28 + 1:02}T10:00:00Z")
        start.update(machine_id=f"{machine:032x}", host_name=f"pi{machine}")
        machine_before.update(lab=None, board="Raspberry Pi 4 Model B", kernel=["6.1.0-56", "6.12.34"][month // 12])
        drive_before.update(model=f"Stick {drive % 7}", serial=f"4C53{drive:08}", link_mbps=[480, 5000][machine % 2])
        mount["filesystem"] = ["ext4", "vfat", "btrfs"][machine % 3]

        def scaled(field):
            number = float(field[2]) if "." in field[2] else int(field[2])
            return f"{field[1]}{type(number)(number / pace)}"

        rest = [re.sub(r'("(?:from_ns|to_ns|seconds)":)([0-9.]+)', scaled, line) for line in lines[2:]]
        with gzip.open(f"{store}/{name_of(run)}.jsonl.gz", "wt", compresslevel=1) as record:
            record.write("\n".join([json.dumps(start), json.dumps(plan), *rest, ""]))


def mebibytes(directory):
    return sum(os.stat(path).st_size for path in glob.glob(f"{directory}/**/*.gz", recursive=True)) / 2**20


def timed(name, run, peak=lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024):
    since = time.monotonic()
    rows = run()
    print(f"  {time.monotonic() - since:8.3f} s  {len(rows):7} rows  {peak():5} MiB at most  {name}")
    return rows


def spark_session():
    from pyspark.sql import SparkSession

    settings = SparkSession.builder.master("local[*]").config("spark.log.level", "ERROR").config("spark.driver.memory", "4g")
    settings = settings.config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false")
    settings = settings.config("spark.ui.showConsoleProgress", "false")
    # Machines are hexadecimal numbers, which it would turn into numbers.
    settings = settings.config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    return settings.getOrCreate()


def spark_read(spark):
    """The guide's table and views; how types are changed is the only part that the dialects don't share."""
    table = spark.read.csv(dataset, header=True, escape='"')
    casts = {"started_at": "timestamp", "value": "double", "low": "double", "high": "double", "link_mbps": "double"}
    table = table.withColumns({name: table[name].cast(kind) for name, kind in casts.items()}).repartition(8).cache()
    table.createOrReplaceTempView("runs")
    for view in translated(first)[-2:]:
        spark.sql(view.replace("CREATE VIEW", "CREATE OR REPLACE TEMPORARY VIEW"))
    return range(table.count())


def translated(query):
    # Spark's `percentile` interpolates as DuckDB's `quantile_cont` does.
    texts = sqlglot.transpile(query, read="duckdb", write="spark")
    return [text.replace("PERCENTILE_CONT(", "PERCENTILE(") for text in texts]


def plain(rows):
    """Rows of either, to be compared: instants in UTC, numbers with nine digits."""
    number = lambda cell: f"{cell:.9g}" if isinstance(cell, float) and math.isfinite(cell) else str(cell)[:19]
    return sorted([number(cell) if not isinstance(cell, str) else cell for cell in row] for row in rows)


def measure(rows):
    simulate(rows)
    print(f"{rows} rows of {rows // 8} runs")
    children = lambda: resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    timed("results export --dataset", lambda: export("--dataset", dataset) and range(rows), children)
    print(f"  {mebibytes(store):8.1f} MiB of records, {mebibytes(dataset):.1f} MiB of dataset")
    databases = []
    timed("DuckDB: the files are read", lambda: databases.append(opened()) or range(rows))
    sample = random.Random(rows).sample([name_of(run) for run in range(rows // 8)], 100)
    own = {(row["run"], row["name"]): row["value"] for row in json.loads(export("--format", "json", *sample))}
    names = ", ".join(f"'{run}'" for run in sample)
    read = databases[0].execute(f"SELECT run, name, value FROM runs WHERE run IN ({names})").fetchall()
    assert {(run, name): value for run, name, value in read} == own, "DuckDB reads other values"
    answers = []
    for query in queries:
        title = query.splitlines()[0].strip("- ")
        answers.append((title, query, timed(title, lambda: databases[0].execute(query).fetchall())))
    spark = spark_session()
    with open(f"/proc/{spark.sparkContext._gateway.proc.pid}/status") as status:
        assert "java" in status.readline(), "not the process of Spark"

    def peak():
        with open(f"/proc/{spark.sparkContext._gateway.proc.pid}/status") as status:
            return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) // 1024

    timed("Spark: the files are read", lambda: spark_read(spark), peak)
    for title, query, answer in answers:
        other = timed(title, lambda: spark.sql(translated(query)[0]).collect(), peak)
        assert plain(other) == plain(answer), f"{title}: Spark says something else than DuckDB"
    print("  Spark's answers are DuckDB's; the values of 100 runs are those of `results export`")


check() if what == "check" else measure(int(what))
