#include "kube/leader.h"

#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.h"
#include "kube/held_lease.h"

namespace mist::kube {
namespace {

// As long as giving it back may take at the end.
constexpr Duration kFarewell = std::chrono::seconds(5);

class Election {
 public:
  Election(Client& client, Clock& clock, EventSink& events, const LeaderOptions& options)
      : client_(client),
        clock_(clock),
        events_(events),
        options_(options),
        lease_(client, clock,
               {.ns = options.ns, .name = options.name, .identity = options.identity, .term = options.term}) {
  }

  Status run(const std::function<Status(const Context&)>& work, const Context& context) {
    MIST_TRY_VOID(lease_.begin(context));
    MIST_TRY_VOID(await(context));
    events_.info(fmt::format("leads: it holds Lease {}", lease_.display()));
    options_.leads(true);
    std::stop_source lost;
    // Either stop ends the work: the caller's, or the loss of the lead.
    const std::stop_callback forward(context.stop(), [&] { lost.request_stop(); });
    std::jthread renewer([&](const std::stop_token& stop) { renew(stop, lost); });
    Status worked = work(context.with_stop(lost.get_token()).with_guard([this] { return check(); }));
    renewer.request_stop();
    renewer.join();
    options_.leads(false);
    if (const std::lock_guard lock(mutex_); loss_) return *std::move(loss_);
    if (const Status given = lease_.give_back(Context().with_timeout(kFarewell)); !given.ok())
      events_.warn(
          fmt::format("Lease {} could not be given back: {}", lease_.display(), given.error().to_line()));
    return worked;
  }

 private:
  Error lost_to(std::string because) const {
    return error(ErrorKind::Conflict, "the lead was lost: Lease {} is no longer this process's",
                 lease_.display())
        .with_because(std::move(because));
  }

  Status check() const { return lease_.in_force() ? Status() : lost_to("it was not renewed in time"); }

  // --- becoming the leader

  Status await(const Context& context) {
    bool is_first = true;
    std::string told;
    while (true) {
      MIST_TRY_VOID(context.check());
      Result<bool> taken = look(context, told);
      if (taken.ok() && *taken) return {};
      if (!taken.ok()) {
        // A problem with the server or permissions is reported at once on the first try; later it may pass.
        const bool passes = taken.error().kind == ErrorKind::Conflict ||
                            (!is_first && taken.error().kind != ErrorKind::Cancelled);
        if (!passes) return std::move(taken).error();
        if (taken.error().kind != ErrorKind::Conflict)
          events_.warn(fmt::format("asking for Lease {}: {}", lease_.display(), taken.error().to_line()));
      }
      is_first = false;
      if (!clock_.sleep(options_.retry, context.stop())) MIST_TRY_VOID(context.check());
    }
  }

  Result<bool> look(const Context& context, std::string& told) {
    auto found = client_.get(lease_.ref(), context);
    if (!found.ok() && found.error().kind != ErrorKind::NotFound) return std::move(found).error();
    if (!found.ok()) {
      MIST_TRY_VOID(lease_.take(std::nullopt, context));
      return true;
    }
    const std::string holder(found->string_at({"spec", "holderIdentity"}));
    const std::string version(found->string_at({"metadata", "resourceVersion"}));
    if (version != seen_version_) {
      seen_version_ = version;
      seen_ = clock_.steady_now();
    }
    if (!holder.empty() && holder != options_.identity &&
        clock_.steady_now() - seen_ < HeldLease::term_of(*found)) {
      if (holder != told)
        events_.info(fmt::format("waits: {} holds Lease {}", escape_controls(holder), lease_.display()));
      told = holder;
      return false;
    }
    MIST_TRY_VOID(lease_.take(*std::move(found), context));
    return true;
  }

  // --- staying it

  void renew(const std::stop_token& stop, std::stop_source& lost) {
    const std::optional<std::string> failure = lease_.keep(options_.retry, stop);
    if (!failure) return;
    {
      const std::lock_guard lock(mutex_);
      loss_ = lost_to(*failure);
    }
    lost.request_stop();
  }

  Client& client_;
  Clock& clock_;
  EventSink& events_;
  const LeaderOptions& options_;
  HeldLease lease_;  // the renewer's alone while it runs, but for in_force()
  std::string seen_version_;
  SteadyTime seen_{};
  std::mutex mutex_;  // of what follows
  std::optional<Error> loss_;
};

}  // namespace

Status lead(Client& client, Clock& clock, EventSink& events, const LeaderOptions& options,
            const std::function<Status(const Context&)>& work, const Context& context) {
  return Election(client, clock, events, options).run(work, context);
}

}  // namespace mist::kube
