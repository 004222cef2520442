#include "kindlb/proxy/channel_hub.hpp"

#include "channel.hpp"
#include "kindlb/base/fd.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <map>
#include <mutex>
#include <thread>

namespace kindlb::proxy {

namespace {

/// A unix socket that reports itself writable takes this much without blocking: it does so only
/// when most of its buffer is free.
constexpr std::size_t kMaxWrite = std::size_t{16} << 10U;
/// epoll reports channels by number, not by pointer or descriptor: both may be reused while an
/// event is still queued, a number never is. This one is the wake-up descriptor's.
constexpr std::uint64_t kWakeNumber = 0;

}  // namespace

class ChannelHub::Impl {
 public:
  explicit Impl(Callbacks callbacks);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void open(const std::string& proxy, docker::ExecStream stream);
  bool send(const std::string& proxy, const protocol::Message& message);
  void close(const std::string& proxy);
  bool is_open(const std::string& proxy) const;

 private:
  using ChannelPtr = std::shared_ptr<Channel>;

  void serve(const std::stop_token& stop);
  void serve(const ChannelPtr& channel, std::uint32_t ready);
  void flush(const ChannelPtr& channel);
  void drop(const ChannelPtr& channel, const std::string& reason);
  ChannelPtr by_number(std::uint64_t number) const;
  // With the lock held:
  void watch(const Channel& channel, int operation, std::uint32_t what) const;
  bool forget(const std::string& proxy);

  const Callbacks callbacks_;
  const base::Fd epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  const base::Fd wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  mutable std::mutex mutex_;
  std::map<std::string, ChannelPtr> channels_;
  std::uint64_t last_number_ = kWakeNumber;
  std::jthread thread_;
};

ChannelHub::Impl::Impl(Callbacks callbacks) : callbacks_(std::move(callbacks)) {
  KINDLB_ASSERT(epoll_ && wake_);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeNumber}};
  KINDLB_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

ChannelHub::Impl::~Impl() {
  thread_.request_stop();
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void ChannelHub::Impl::open(const std::string& proxy, docker::ExecStream stream) {
  const std::lock_guard lock(mutex_);
  forget(proxy);
  auto channel = std::make_shared<Channel>(proxy, ++last_number_, std::move(stream));
  channels_[proxy] = channel;
  watch(*channel, EPOLL_CTL_ADD, EPOLLIN);
}

bool ChannelHub::Impl::send(const std::string& proxy, const protocol::Message& message) {
  const auto line = protocol::encode(message);
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(proxy);
  if (found == channels_.end()) return false;
  auto& outbound = found->second->outbound;
  if (!outbound.empty() && outbound.size() + line.size() > kMaxQueued) return false;
  if (outbound.empty()) watch(*found->second, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
  outbound += line;
  return true;
}

void ChannelHub::Impl::close(const std::string& proxy) {
  const std::lock_guard lock(mutex_);
  forget(proxy);
}

bool ChannelHub::Impl::is_open(const std::string& proxy) const {
  const std::lock_guard lock(mutex_);
  return channels_.contains(proxy);
}

void ChannelHub::Impl::watch(const Channel& channel, int operation, std::uint32_t what) const {
  epoll_event event{.events = what, .data = {.u64 = channel.number()}};
  ::epoll_ctl(epoll_.get(), operation, channel.fd(), &event);
}

/// The stream itself is closed with the last reference to the channel, which the hub's thread may
/// hold while it delivers a message.
bool ChannelHub::Impl::forget(const std::string& proxy) {
  const auto found = channels_.find(proxy);
  if (found == channels_.end()) return false;
  found->second->abandoned = true;
  watch(*found->second, EPOLL_CTL_DEL, 0);
  channels_.erase(found);
  return true;
}

ChannelHub::Impl::ChannelPtr ChannelHub::Impl::by_number(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [proxy, channel] : channels_)
    if (channel->number() == number) return channel;
  return nullptr;
}

void ChannelHub::Impl::serve(const std::stop_token& stop) {
  std::array<epoll_event, 16> events{};
  while (!stop.stop_requested()) {
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count && !stop.stop_requested(); ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      if (const auto channel = by_number(event.data.u64)) serve(channel, event.events);
    }
  }
}

void ChannelHub::Impl::serve(const ChannelPtr& channel, std::uint32_t ready) {
  if ((ready & ~std::uint32_t{EPOLLOUT}) != 0) {
    const auto broken = channel->receive([&](protocol::Message message) {
      callbacks_.on_message(channel->proxy(), std::move(message));
    });
    if (broken) return drop(channel, *broken);
  }
  if ((ready & EPOLLOUT) != 0) flush(channel);
}

/// Write without the lock, so that send() never waits for a slow agent. Only this thread removes
/// bytes from `outbound`, and other threads only append, so the chunk is still at its front.
void ChannelHub::Impl::flush(const ChannelPtr& channel) {
  std::unique_lock lock(mutex_);
  const auto chunk = channel->outbound.substr(0, kMaxWrite);
  lock.unlock();
  if (const auto broken = channel->transmit(chunk)) return drop(channel, *broken);
  lock.lock();
  channel->outbound.erase(0, chunk.size());
  if (!channel->outbound.empty() || channel->abandoned) return;
  channel->outbound.shrink_to_fit();
  watch(*channel, EPOLL_CTL_MOD, EPOLLIN);
}

/// Forget a broken channel and report it, unless close() or open() was faster.
void ChannelHub::Impl::drop(const ChannelPtr& channel, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (channel->abandoned) return;
    forget(channel->proxy());
  }
  callbacks_.on_closed(channel->proxy(), reason);
}

ChannelHub::ChannelHub(Callbacks callbacks) : impl_(std::make_unique<Impl>(std::move(callbacks))) {}

ChannelHub::~ChannelHub() = default;

void ChannelHub::open(const std::string& proxy, docker::ExecStream stream) {
  impl_->open(proxy, std::move(stream));
}

bool ChannelHub::send(const std::string& proxy, const protocol::Message& message) {
  return impl_->send(proxy, message);
}

void ChannelHub::close(const std::string& proxy) {
  impl_->close(proxy);
}

bool ChannelHub::is_open(const std::string& proxy) const {
  return impl_->is_open(proxy);
}

}  // namespace kindlb::proxy
