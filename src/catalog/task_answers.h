#pragma once
// The catalog's answers to the Pods of tests: the task of the token that they show, its packages, and a
// place for what they say. It isn't a part of the REST API; task_client.h asks it. Any thread.

#include <string_view>

#include "base/event.h"
#include "catalog/blobs.h"
#include "catalog/task_store.h"
#include "http/web_server.h"

namespace mist::catalog {

/// GET: TrialRequest::to_line().
inline constexpr std::string_view kTaskPath = "/tasks/mine";
/// Of one of its packages by its digest: kTaskPath + kTaskPackages + "sha256:…". GET: its bytes.
inline constexpr std::string_view kTaskPackages = "/packages/";
/// PUT: the next piece, by its number from 0; the last one with ?last.
inline constexpr std::string_view kTaskPieces = "/pieces/";

struct TaskSources {
  TaskStore& tasks;
  Blobs& blobs;
  EventSink& events;
};

/// Whether answer_task() is asked.
bool is_task_path(std::string_view path);
http::WebAnswer answer_task(const TaskSources& sources, const http::WebRequest& request);

}  // namespace mist::catalog
