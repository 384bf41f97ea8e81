// Checks that refuse the common errors in catalog figures: sparse rates printed as dense, both link
// directions added, GiB as GB, a node that draws less than its accelerators, a price range whose
// low end exceeds its high end ...
//
// Each fault has a stable code ("catalog.sparse") and the file and line of the row. Facts to
// compare with are data (dense_ratios.csv, dense_ceilings.csv, link_rates.csv); bounds are the
// constants below. docs/models/catalog.md lists the codes. Errors inside the bounds are not
// noticed: a 5 % slip in one figure passes.
#pragma once

#include <string>
#include <vector>

#include "core/base/csv.h"
#include "core/catalog/catalog.h"

namespace orrery::catalog {

// Dense 16-bit TFLOP/s per watt. Real parts range from H20 (0.37) to H100 PCIe and Rubin (2.2); the
// bounds leave a margin on each side.
inline constexpr double kLeastTflopsPerWatt = 0.3;
inline constexpr double kMostTflopsPerWatt = 4.0;
// The same for 8-bit and 4-bit rates: Rubin, the densest announced, has 9.7 and 19.4.
inline constexpr double kMostTflopsPerWatt8Bit = 12.0;
inline constexpr double kMostTflopsPerWatt4Bit = 24.0;
// Dense 16-bit FLOP per byte of memory traffic. Real parts range from H20 (37) to TPU v6e (560).
inline constexpr double kLeastRidge = 30.0;
inline constexpr double kMostRidge = 700.0;
// Allowed rounding of a published ratio: L40S prints 733 for twice 362 (1.2 %).
inline constexpr double kRatioTolerance = 0.03;
// Allowed difference between port count times speed and the vendor's total: SN2201 prints 0.448
// Tb/s as 0.45.
inline constexpr double kTotalTolerance = 0.01;
// Kilowatts per rack unit. Air-cooled servers reach 1.6 (8 MI325X in 8U); a DGX H100 in 4U would be
// 2.6.
// Liquid-cooled racks reach 4.8 (Vera Rubin NVL72); "2.4 MW per rack" would be 50.
inline constexpr double kMostKilowattsPerUnitAir = 2.0;
inline constexpr double kMostKilowattsPerUnitLiquid = 8.0;
// Vendors whose documents count memory in GiB, in steps of 16; the catalog holds GB.
inline constexpr const char* kGibVendor = "AWS";
inline constexpr double kGibStep = 16.0;

// Returns all faults of all tables; empty if the catalog is valid.
Diagnostics check_catalog(const Catalog& catalog);

// The parts of check_catalog, one file each.
void check_accelerators(const Catalog& catalog, Diagnostics& faults);
void check_nodes(const Catalog& catalog, Diagnostics& faults);
void check_network_parts(const Catalog& catalog, Diagnostics& faults);
void check_models(const Catalog& catalog, Diagnostics& faults);
void check_site_facts(const Catalog& catalog, Diagnostics& faults);
void check_prices(const Catalog& catalog, Diagnostics& faults);

// Makes a fault for a row that was read; the row's provenance gives file and line.
Diagnostic row_fault(const Provenance& row, std::string code, std::string what, std::string why);

}  // namespace orrery::catalog
