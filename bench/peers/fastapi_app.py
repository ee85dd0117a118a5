"""What a data engineer writes to serve a DuckDB query as Arrow. Run by bench/peers.mjs, which gives the table's SQL."""

import os

import duckdb
import pyarrow as pa
import uvicorn
from fastapi import FastAPI, Response

app = FastAPI()
connection = duckdb.connect()
connection.execute(os.environ["TABLE_SQL"])


@app.get("/t")
def table(rows: int, other: int) -> Response:
    query = "SELECT * FROM t WHERE id < ? AND id <> ?"
    result = connection.cursor().execute(query, [rows, other]).to_arrow_table()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, result.schema) as writer:
        writer.write_table(result)
    return Response(sink.getvalue().to_pybytes(), media_type="application/vnd.apache.arrow.stream")


if __name__ == "__main__":
    uvicorn.run(app, port=0, access_log=False)
