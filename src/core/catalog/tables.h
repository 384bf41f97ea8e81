// Converts a row of each table to its struct. There is one overload per struct; load_catalog calls
// them.
#pragma once

#include "core/catalog/catalog.h"
#include "core/catalog/row_reader.h"

namespace orrery::catalog {

void read_row(RowReader& r, Accelerator& out);
void read_row(RowReader& r, Node& out);
void read_row(RowReader& r, Switch& out);
void read_row(RowReader& r, Nic& out);
void read_row(RowReader& r, Optic& out);
void read_row(RowReader& r, StorageDevice& out);
void read_row(RowReader& r, StorageProfile& out);
void read_row(RowReader& r, EmergingPart& out);
void read_row(RowReader& r, MigProfile& out);
void read_row(RowReader& r, CoolingMethod& out);
void read_row(RowReader& r, AshraeClass& out);
void read_row(RowReader& r, PueByClimate& out);
void read_row(RowReader& r, PowerStage& out);
void read_row(RowReader& r, Redundancy& out);
void read_row(RowReader& r, GridRegion& out);
void read_row(RowReader& r, LeadTime& out);
void read_row(RowReader& r, CloudPrice& out);
void read_row(RowReader& r, ReservedDiscount& out);
void read_row(RowReader& r, StorageCloudPrice& out);
void read_row(RowReader& r, SpotBand& out);
void read_row(RowReader& r, TcoParameter& out);
void read_row(RowReader& r, ModelShape& out);
void read_row(RowReader& r, ServingEngine& out);
void read_row(RowReader& r, ExportControl& out);
void read_row(RowReader& r, DenseRatio& out);
void read_row(RowReader& r, DenseCeiling& out);
void read_row(RowReader& r, LinkRate& out);

}  // namespace orrery::catalog
