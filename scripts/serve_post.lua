-- For wrk: posts the picture that KITH_PICTURE names to /api/search.
local file = assert(io.open(assert(os.getenv("KITH_PICTURE")), "rb"))
wrk.method = "POST"
wrk.path = "/api/search?k=12"
wrk.headers["Content-Type"] = "image/png"
wrk.body = file:read("*a")
file:close()

function done(summary, latency, requests)
  local failed = summary.errors.connect + summary.errors.read +
    summary.errors.write + summary.errors.status + summary.errors.timeout
  io.write(string.format(
    "requests %d, failed %d, %.1f a second, p50 %.1f ms, p99 %.1f ms\n",
    summary.requests, failed, summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
