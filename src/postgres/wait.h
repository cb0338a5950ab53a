#pragma once
// Waiting for a server's answer with a limit: libpq's own calls that wait do it without end, also for a
// server that was stopped or cut off. Thread of the connection.

#include <chrono>

struct pg_conn;

namespace mist::postgres {

struct Libpq;

/// Sends what is left to send, and reads, until PQgetResult doesn't wait. The end of the connection is a
/// result, too. False: nothing could be sent or read for `limit`; a negative one is none.
bool wait_for_result(const Libpq& pq, pg_conn* connection, std::chrono::milliseconds limit);

}  // namespace mist::postgres
