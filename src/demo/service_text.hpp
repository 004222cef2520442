#pragma once
// What the demo says about Services, as text. Pure.

#include "kindlb/core/service.hpp"

#include <string>
#include <vector>

namespace kindlb::demo {

bool is_serving(const core::Service& service);
bool is_provisioning(const core::Service& service);

/// "Serving=False/Provisioning Provisioning=True"; a reason that only repeats the value is left
/// out. Empty: no provider has said anything.
std::string conditions_text(const core::Service& service);
/// "198.51.100.254 fd00::1"
std::string addresses_text(const core::Service& service);
/// "80/TCP 53/UDP 9999/SCTP!": with a mark where the port status has an error.
std::string ports_text(const core::Service& service);
/// What a person would call the difference, one item each; `before` may be null.
std::vector<std::string> differences(const core::Service* before, const core::Service& after);

/// One Service as the table shows it.
struct Row {
  std::string name;
  std::string address;
  std::string ports;
  std::string answer;
  std::string conditions;
  bool recently_changed = false;  ///< changed a moment ago
};

/// Short: further addresses are counted, and Provisioning=False goes without saying. Answer and
/// freshness are the caller's.
Row row_of(const core::Service& service);

struct TableShape {
  std::size_t width = 120;  ///< columns; longer lines are cut
  bool colour = false;
};

/// The heading and a line for each row.
std::vector<std::string> table(const std::vector<Row>& rows, const TableShape& shape);

}  // namespace kindlb::demo
