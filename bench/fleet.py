"""Called by bench/fleet: fleet.py PROGRAM DIRECTORY check|ROWS."""

import csv, glob, gzip, io, json, os, random, re, resource, statistics, subprocess, sys, time
import duckdb, pandas

program, work, what = sys.argv[1:]
dataset = f"{work}/data/{what}"
first, *queries = re.findall(r"```sql\n(.*?)```", open("docs/guide/many-machines.md").read(), re.S)
assert len(queries) == 10, f"{len(queries)} queries in the guide"


def export(*arguments):
    command = [program, "--store", f"{work}/store", "results", "export", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def opened():
    database = duckdb.connect()
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

    rows = cells(row for row in rows if row[names.index("ended")] == "finished")
    database = opened()
    columns = ", ".join(name if name != "started_at" else "strftime(started_at, '%Y-%m-%dT%XZ')" for name in names)
    frames = [pandas.read_csv(path, dtype=str, keep_default_na=False) for path in written]
    table = pandas.concat(frames)
    database.execute("SET TimeZone = 'UTC'")
    assert list(table.columns) == names
    assert cells(table.itertuples(index=False)) == rows, "pandas reads other rows"
    read = cells(database.execute(f"SELECT {columns} FROM runs").fetchall())
    assert read == rows, f"DuckDB reads other rows: {[pair for pair in zip(read, rows) if pair[0] != pair[1]][:1]}"
    values = {}
    for row in json.loads(export("--format", "json")):
        if row["ended"] == "finished":
            values.setdefault((row["experiment"], row["name"]), []).append(row["value"])
    medians = "SELECT experiment, name, quantile_disc(value, 0.5) FROM runs GROUP BY ALL"
    medians = {(experiment, name): value for experiment, name, value in database.execute(medians).fetchall()}
    assert medians == {name: statistics.median_low(all) for name, all in values.items()}, medians
    print(f"check: DuckDB and pandas read {len(rows)} rows of {len(written)} files as `results export` writes them")


def simulate(rows):
    """Copies the rows of a real run for other drives, machines and months."""
    template = list(csv.DictReader(io.StringIO(export("rprotocol"))))
    runs = -(-rows // len(template))
    machines = max(4, runs // 24)
    random.seed(rows)
    for run in range(runs):
        machine, month = run % machines, run // machines % 24
        drive = 2 * machine + random.randrange(2)
        pace = random.Random(drive).lognormvariate(0, 0.1) * random.lognormvariate(0, 0.02) * (drive % 50 and 1 or 0.3)
        date = f"{2025 + month // 12}-{month % 12 + 1:02}"
        changes = {
            "run": f"r{run}", "started_at": f"{date}-{run % 28 + 1:02}T10:00:00Z", "is_virtual": "false",
            "drive": f"S{drive:06}+121077760", "serial": f"S{drive:06}", "model": f"Stick {drive % 7}",
            "firmware": f"1.0{drive % 3}", "host": f"pi{machine}", "machine_id": f"{machine:032x}",
            "filesystem": ["ext4", "vfat", "btrfs"][machine % 3], "kernel": ["6.1.0-56", "6.12.34"][month // 12],
            "link_mbps": [480, 5000][machine % 2],
        }
        directory = f"{dataset}/month={date}/machine={machine:032x}"
        os.makedirs(directory, exist_ok=True)
        with gzip.open(f"{directory}/part-r{run}-{date}.csv.gz", "wt", compresslevel=1, newline="") as file:
            out = csv.DictWriter(file, list(template[0]))
            out.writeheader()
            for row in template:
                scaled = {name: float(row[name]) * pace for name in ("value", "low", "high") if row[name]}
                out.writerow({**row, **changes, **scaled})


def timed(name, run):
    since = time.monotonic()
    rows = len(run())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"  {time.monotonic() - since:8.3f} s  {rows:7} rows  {peak:5} MiB at most  {name}")


if what == "check":
    check()
else:
    simulate(int(what))
    print(f"{what} rows of {len(glob.glob(dataset + '/*/*/*'))} runs")
    databases = []
    timed("the files are read", lambda: databases.append(opened()) or databases)
    for query in queries:
        timed(query.splitlines()[0].strip("- "), lambda: databases[0].execute(query).fetchall())
