#include "kube/leader.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.h"

namespace mist::kube {
namespace {

// As long as giving it back may take at the end.
constexpr Duration kFarewell = std::chrono::seconds(5);

class Election {
 public:
  Election(Client& client, Clock& clock, EventSink& events, const LeaderOptions& options)
      : client_(client), clock_(clock), events_(events), options_(options) {}

  Status run(const std::function<Status(const Context&)>& work, const Context& context) {
    MIST_TRY(ref_.resource, client_.resource_for({"coordination.k8s.io", "Lease"}, "v1", context));
    ref_.ns = options_.ns;
    ref_.name = options_.name;
    MIST_TRY_VOID(await(context));
    events_.info(fmt::format("leads: it holds Lease {}/{}", options_.ns, options_.name));
    options_.leads(true);
    std::stop_source lost;
    // Whichever ends first stops the work.
    const std::stop_callback forward(context.stop(), [&] { lost.request_stop(); });
    std::jthread renewer([&](const std::stop_token& stop) { renew(stop, lost); });
    Status worked = work(context.with_stop(lost.get_token()).with_guard([this] { return check(); }));
    renewer.request_stop();
    renewer.join();
    options_.leads(false);
    if (const std::lock_guard lock(mutex_); loss_) return *std::move(loss_);
    give_back();
    return worked;
  }

 private:
  Error lost_to(std::string because) const {
    return error(ErrorKind::Conflict, "the lead was lost: Lease {}/{} is no longer this process's",
                 options_.ns, options_.name)
        .with_because(std::move(because));
  }

  Status check() const {
    if (clock_.boot_now().time_since_epoch().count() < until_.load()) return {};
    return lost_to("it was not renewed in time");
  }

  void renewed_at(BootTime began) {
    until_.store((began + options_.term * 2 / 3).time_since_epoch().count());
  }

  // --- becoming the leader

  Status await(const Context& context) {
    bool is_first = true;
    std::string told;
    while (true) {
      MIST_TRY_VOID(context.check());
      Result<bool> taken = look(context, told);
      if (taken.ok() && *taken) return {};
      if (!taken.ok()) {
        // What is wrong with server or permissions is said at once; later it may pass.
        const bool passes = taken.error().kind == ErrorKind::Conflict ||
                            (!is_first && taken.error().kind != ErrorKind::Cancelled);
        if (!passes) return std::move(taken).error();
        if (taken.error().kind != ErrorKind::Conflict)
          events_.warn(
              fmt::format("asking for Lease {}/{}: {}", options_.ns, options_.name, taken.error().to_line()));
      }
      is_first = false;
      if (!clock_.sleep(options_.retry, context.stop())) MIST_TRY_VOID(context.check());
    }
  }

  Result<bool> look(const Context& context, std::string& told) {
    const BootTime began = clock_.boot_now();
    auto found = client_.get(ref_, context);
    if (!found.ok() && found.error().kind != ErrorKind::NotFound) return std::move(found).error();
    if (!found.ok()) {
      MIST_TRY(lease_, client_.create(ref_.resource, options_.ns, wanted(Value::object()), context));
      renewed_at(began);
      return true;
    }
    const std::string holder(found->string_at({"spec", "holderIdentity"}));
    const std::string version(found->string_at({"metadata", "resourceVersion"}));
    if (version != seen_version_) {
      seen_version_ = version;
      seen_ = clock_.steady_now();
    }
    if (!holder.empty() && holder != options_.identity && clock_.steady_now() - seen_ < term_of(*found)) {
      if (holder != told)
        events_.info(
            fmt::format("waits: {} holds Lease {}/{}", escape_controls(holder), options_.ns, options_.name));
      told = holder;
      return false;
    }
    MIST_TRY(lease_, client_.update(ref_, wanted(*found), context));
    renewed_at(began);
    return true;
  }

  static Duration term_of(const Value& lease) {
    const Value* const seconds = lease.at_path({"spec", "leaseDurationSeconds"});
    return seconds != nullptr && seconds->is_int()
               ? std::chrono::seconds(std::max<std::int64_t>(seconds->as_int(), 1))
               : Duration(std::chrono::seconds(15));
  }

  // The Lease as this process holds it.
  Value wanted(Value lease) const {
    lease.set("apiVersion", "coordination.k8s.io/v1");
    lease.set("kind", "Lease");
    lease["metadata"].set("name", options_.name);
    lease["metadata"].set("namespace", options_.ns);
    const std::string now = format_micro_time(clock_.now());
    Value& spec = lease["spec"];
    if (!spec.is_object()) spec = Value::object();
    if (spec.string_at("holderIdentity") != options_.identity) {
      const Value* const transitions = spec.find("leaseTransitions");
      const bool is_new = transitions == nullptr || !transitions->is_int();
      spec.set("leaseTransitions", is_new ? std::int64_t{0} : transitions->as_int() + 1);
      spec.set("acquireTime", now);
    }
    spec.set("holderIdentity", options_.identity);
    spec.set("leaseDurationSeconds", std::chrono::duration_cast<std::chrono::seconds>(options_.term).count());
    spec.set("renewTime", now);
    return lease;
  }

  // --- staying it

  void renew(const std::stop_token& stop, std::stop_source& lost) {
    std::string failure = "nothing ran here: this process was stopped, or its machine";
    while (clock_.sleep(options_.retry, stop)) {
      const BootTime began = clock_.boot_now();
      if (check().ok()) {
        const Status renewed = renew_once(Context(stop).with_timeout(options_.term / 3));
        if (stop.stop_requested()) return;
        if (renewed.ok()) {
          renewed_at(began);
          continue;
        }
        failure = renewed.error().to_line();
        if (renewed.error().kind != ErrorKind::Conflict && check().ok()) continue;
      }
      until_.store(0);
      {
        const std::lock_guard lock(mutex_);
        loss_ = lost_to(failure);
      }
      lost.request_stop();
      return;
    }
  }

  Status renew_once(const Context& context) {
    auto updated = client_.update(ref_, wanted(lease_), context);
    if (!updated.ok() && updated.error().kind == ErrorKind::Conflict) {
      // Somebody may label it; or our own renewal arrived, and its answer did not.
      MIST_TRY(Value now, client_.get(ref_, context));
      if (now.string_at({"spec", "holderIdentity"}) != options_.identity)
        return error(ErrorKind::Conflict, "{} holds it now",
                     escape_controls(now.string_at({"spec", "holderIdentity"})));
      updated = client_.update(ref_, wanted(std::move(now)), context);
    }
    if (!updated.ok()) return std::move(updated).error();
    lease_ = *std::move(updated);
    return {};
  }

  void give_back() {
    Value lease = wanted(lease_);
    lease["spec"].set("holderIdentity", "");
    lease["spec"].set("leaseDurationSeconds", std::int64_t{1});
    if (const auto given = client_.update(ref_, lease, Context().with_timeout(kFarewell)); !given.ok())
      events_.warn(fmt::format("Lease {}/{} could not be given back: {}", options_.ns, options_.name,
                               given.error().to_line()));
  }

  Client& client_;
  Clock& clock_;
  EventSink& events_;
  const LeaderOptions& options_;
  ObjectRef ref_;
  Value lease_;  // as the server has it; the renewer's alone while it runs
  std::string seen_version_;
  SteadyTime seen_{};
  std::atomic<BootTime::rep> until_ = 0;
  std::mutex mutex_;  // of what follows
  std::optional<Error> loss_;
};

}  // namespace

Status lead(Client& client, Clock& clock, EventSink& events, const LeaderOptions& options,
            const std::function<Status(const Context&)>& work, const Context& context) {
  return Election(client, clock, events, options).run(work, context);
}

}  // namespace mist::kube
