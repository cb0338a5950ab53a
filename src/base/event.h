#pragma once
// Progress as data. Anything that takes time tells an EventSink; the CLI draws it, tests record it, the
// operator makes Kubernetes Events of it. Sinks may be called from any thread and must not block for long.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mist {

enum class EventLevel : std::uint8_t { Debug, Info, Warning };

/// The subject of a message, for logs that programs read: {"blueprint", "app"}. `in_text`: the message says
/// so itself, and a log for people need not repeat it.
struct MessageField {
  std::string name;
  std::string value;
  bool in_text = true;
  friend bool operator==(const MessageField&, const MessageField&) = default;
};
using MessageFields = std::vector<MessageField>;

/// A sentence for people: warnings of the API server, of YAML, of the cache.
struct Message {
  EventLevel level = EventLevel::Info;
  std::string text;
  MessageFields fields = {};
};

/// Something that takes time began or ended. `id` pairs the two.
struct ActivityBegan {
  std::uint64_t id = 0;
  std::string text;  ///< "compiling hello-web 0.1.0"
};
struct ActivityEnded {
  std::uint64_t id = 0;
  bool ok = true;
};
/// How far it is, where that can be counted in bytes; between the two others. `done` may go back, where
/// something is sent again.
struct ActivityProgress {
  std::uint64_t id = 0;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

/// One object of a release moved on.
struct ObjectProgress {
  std::string object;  ///< "Deployment shop/api"
  std::string state;   ///< "created", "configured", "unchanged", "deleted", "waiting", "ready", "failed"
  std::string detail;  ///< "1 of 3 replicas ready"
};

/// The planned changes to the objects of a release, with reasons; sent once, before the first write. If the
/// release turns out to have moved and is read again, the later event counts.
struct PlanAnnounced {
  struct Field {
    std::string path;  ///< ".spec.replicas"
    std::string file = {};
    std::uint32_t line = 0;  ///< 0: unknown
  };
  struct Awaited {
    std::string object;  ///< what has to be there, or gone, before
    std::string reason = {};
  };
  struct Object {
    std::string object;      ///< "Deployment shop/api", as in ObjectProgress
    std::string group = {};  ///< API group
    std::string action;      ///< "create", "update", "unchanged", "delete", "retain", …
    std::string reason = {};
    std::vector<Field> fields = {};   ///< that differ
    std::vector<Awaited> after = {};  ///< what it waits for; a few, when it waits for nearly everything
    std::size_t more_after = 0;       ///< how many more
    std::string package = {};         ///< SourceLocation::package of its fields
  };
  std::string operation;  ///< "install"
  std::string ns;
  std::string release;
  int revision = -1;  ///< that it makes; -1: none
  std::vector<Object> objects = {};
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void message(const Message& event) = 0;
  virtual void began(const ActivityBegan& event) = 0;
  virtual void ended(const ActivityEnded& event) = 0;
  virtual void object(const ObjectProgress& event) = 0;
  /// Most listeners have no use for it.
  virtual void progressed(const ActivityProgress& /*event*/) {}
  /// Most listeners have no use for it.
  virtual void planned(const PlanAnnounced& /*event*/) {}
  /// Whether somebody gets to see messages of that level. For who would else say the same again in an error.
  virtual bool shows(EventLevel /*level*/) const { return true; }

  void warn(std::string text, MessageFields fields = {}) {
    message({EventLevel::Warning, std::move(text), std::move(fields)});
  }
  void info(std::string text, MessageFields fields = {}) {
    message({EventLevel::Info, std::move(text), std::move(fields)});
  }
  void debug(std::string text, MessageFields fields = {}) {
    message({EventLevel::Debug, std::move(text), std::move(fields)});
  }
};

/// Drops everything.
class NullEventSink final : public EventSink {
 public:
  void message(const Message&) override {}
  void began(const ActivityBegan&) override {}
  void ended(const ActivityEnded&) override {}
  void object(const ObjectProgress&) override {}
  bool shows(EventLevel) const override { return false; }
};

/// Began when made, ended when destroyed; `fail()` marks it as failed.
class Activity {
 public:
  Activity(EventSink& sink, std::string text);
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  ~Activity() { sink_.ended({id_, ok_}); }
  void fail() { ok_ = false; }
  /// In bytes; no more often than somebody wants to read it.
  void progress(std::uint64_t done, std::uint64_t total) { sink_.progressed({id_, done, total}); }

 private:
  EventSink& sink_;
  std::uint64_t id_;
  bool ok_ = true;
};

}  // namespace mist
