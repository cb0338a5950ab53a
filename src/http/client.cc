#include "http/client.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "http/exchange.h"
#include "http/io_thread.h"
#include "http/unanswered.h"

namespace mist::http {

struct Client::Impl {
  explicit Impl(ClientOptions options) : settings(std::move(options)) {}
  ~Impl();

  Result<Response> run(const Request& request, const BodyPiece* piece, const Context& context);
  Result<IoThread*> enter();
  void leave();
  Result<Response> perform(IoThread& io, const Request& request, const BodyPiece* piece,
                           const Context& context);
  static Result<Response> follow(const std::shared_ptr<Exchange>& exchange, IoThread& io,
                                 const BodyPiece* piece, const Context& context);

  ExchangeSettings settings;  // const once the thread runs
  std::mutex mutex;
  std::condition_variable left;
  std::unique_ptr<IoThread> thread;  // guarded by mutex until it is set, then fixed
  std::size_t callers = 0;           // guarded by mutex
};

Client::Impl::~Impl() {
  if (!thread) return;
  thread->stop();
  std::unique_lock lock(mutex);
  left.wait(lock, [&] { return callers == 0; });
}

Result<IoThread*> Client::Impl::enter() {
  const std::scoped_lock lock(mutex);
  if (!thread) {
    // Those of a cluster say nothing about a proxy, which may be one of the environment.
    settings.system_roots = find_system_roots();
    MIST_TRY(thread, IoThread::start(settings.options));
  }
  ++callers;
  return thread.get();
}

void Client::Impl::leave() {
  const std::scoped_lock lock(mutex);
  --callers;
  left.notify_all();
}

Result<Response> Client::Impl::run(const Request& request, const BodyPiece* piece, const Context& context) {
  MIST_TRY_VOID(context.check());
  MIST_TRY(IoThread * io, enter());
  Result<Response> result = perform(*io, request, piece, context);
  leave();
  return result;
}

Result<Response> Client::Impl::perform(IoThread& io, const Request& request, const BodyPiece* piece,
                                       const Context& context) {
  const Delivery delivery = piece == nullptr ? Delivery::Whole : Delivery::Pieces;
  MIST_TRY(const auto exchange, Exchange::create(request, delivery, settings));
  io.submit(exchange);
  auto response = follow(exchange, io, piece, context).in(exchange->frame());
  if (response.ok() || exchange->is_answered()) return response;
  return std::move(response).error().with_detail(Unanswered());
}

Result<Response> Client::Impl::follow(const std::shared_ptr<Exchange>& exchange, IoThread& io,
                                      const BodyPiece* piece, const Context& context) {
  const std::stop_callback on_stop(context.stop(), [&] { exchange->notify(); });
  const auto give_up = [&](Error why) -> Error {
    io.drop(exchange);
    return why;
  };
  std::optional<Context> only_answer;  // once the caller is stopped
  while (true) {
    switch (exchange->wait(only_answer.value_or(context))) {
      case Exchange::Woken::Data: {
        bool resume = false;
        const std::string pieces = exchange->take_pieces(resume);
        if (resume) io.resume(exchange);
        if (!(*piece)(pieces)) {
          io.drop(exchange);
          return exchange->head();
        }
        exchange->restart_idle_clock();
        break;
      }
      case Exchange::Woken::Done:
        return exchange->result();
      case Exchange::Woken::Stopped:
        if (!exchange->hold_back()) return give_up(context.check().error());
        only_answer = context.with_stop({}).with_timeout(exchange->await_answer());
        break;
      case Exchange::Woken::Deadline: {
        const bool may_have_arrived = only_answer || exchange->hold_back();
        Error why = exchange->deadline_error(context.check().error());
        return give_up(may_have_arrived ? as_maybe_sent(std::move(why)) : std::move(why));
      }
      case Exchange::Woken::Idle:
        return give_up(exchange->idle_error());
      case Exchange::Woken::Unstarted:
        return give_up(exchange->unstarted_error());
    }
  }
}

Client::Client(ClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Client::~Client() = default;

Result<Response> Client::send(const Request& request, const Context& context) {
  return impl_->run(request, nullptr, context);
}

Result<Response> Client::stream(const Request& request, const BodyPiece& piece, const Context& context) {
  return impl_->run(request, &piece, context);
}

}  // namespace mist::http
