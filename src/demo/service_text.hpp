#pragma once
// Services as text for the demo: conditions, ports, differences, table rows. Pure.

#include "kindlb/core/service.hpp"

#include <string>
#include <vector>

namespace kindlb::demo {

bool is_serving(const core::Service& service);
bool is_provisioning(const core::Service& service);

/// Return "Serving=False/Provisioning Provisioning=True"; a reason that only repeats the value is
/// left out. Empty: there are no conditions.
std::string conditions_text(const core::Service& service);
/// Return "198.51.100.254 fd00::1".
std::string addresses_text(const core::Service& service);
/// Return "80/TCP 53/UDP 9999/SCTP!"; the mark means that the port's status has an error.
std::string ports_text(const core::Service& service);
/// Describe what has changed, one item per change. `before` null: the Service is new.
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

/// Return a short row: further addresses are only counted, and Provisioning=False is left out. The
/// caller fills in the answer and recently_changed.
Row row_of(const core::Service& service);

/// How the table is rendered; colours only where the output is a terminal.
struct TableShape {
  std::size_t width = 120;  ///< columns; longer lines are cut
  bool colour = false;
};

/// Return the heading and one line per row.
std::vector<std::string> table(const std::vector<Row>& rows, const TableShape& shape);

}  // namespace kindlb::demo
