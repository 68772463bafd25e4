package allowances

import (
	"testing"
	"time"
	_ "time/tzdata"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	must(t, err)
	return loc
}

func TestO30_PeriodsFollowTheTimezone(t *testing.T) {
	for _, tt := range []struct {
		name, zone string
		period     Period
		at         string // instants are UTC
		from, to   string
	}{
		{"a day of UTC", "UTC", Day, "2026-03-01T12:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"its first instant", "UTC", Day, "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"its last", "UTC", Day, "2026-03-01T23:59:59.999Z", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"},
		{"a month", "UTC", Month, "2026-02-28T23:59:59Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"},
		{"the last month of a year", "UTC", Month, "2026-12-31T12:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"a day ahead of UTC", "Asia/Tokyo", Day, "2026-03-01T15:00:00Z", "2026-03-01T15:00:00Z", "2026-03-02T15:00:00Z"},
		{"a month behind UTC", "America/New_York", Month, "2026-02-01T04:59:59Z", "2026-01-01T05:00:00Z", "2026-02-01T05:00:00Z"},
		{"a day of 23 hours", "Europe/Berlin", Day, "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"a day of 25 hours", "Europe/Berlin", Day, "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"a month with a change", "Europe/Berlin", Month, "2026-03-15T12:00:00Z", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"},
		{"a day whose midnight does not exist", "America/Sao_Paulo", Day, "2018-11-04T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"the day before it", "America/Sao_Paulo", Day, "2018-11-04T02:59:59Z", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		{"a day whose midnight happens twice", "America/Havana", Day, "2025-11-02T12:00:00Z", "2025-11-02T04:00:00Z", "2025-11-03T05:00:00Z"},
		{"the day after one that does not exist", "Pacific/Apia", Day, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"the day before one that does not exist", "Pacific/Apia", Day, "2011-12-30T09:59:59Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, tt.at)
			must(t, err)
			from, to := tt.period.Bounds(at, zone(t, tt.zone))
			if f, e := from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339); f != tt.from || e != tt.to {
				t.Errorf("from %s to %s, want %s and %s", f, e, tt.from, tt.to)
			}
		})
	}
	if from, to := Period("week").Bounds(noon, nil); !from.IsZero() || !to.IsZero() {
		t.Errorf("a week is from %v to %v", from, to)
	}
	if from, to := Day.Bounds(noon, nil); !from.Equal(noon.Add(-12*time.Hour)) || !to.Equal(noon.Add(12*time.Hour)) {
		t.Errorf("no zone: from %v to %v, want UTC", from, to)
	}
}

// Whatever a zone did to its clocks, each instant is of one period, and every
// instant of that says so: also where a clock was put back over midnight
// (St. John's did it at 00:01) and where a day was left out.
func TestO30_PeriodsHaveNoHoleAndNoOverlap(t *testing.T) {
	for name, year := range map[string]int{
		"UTC": 2026, "Europe/Berlin": 2026, "America/St_Johns": 2006, "America/Sao_Paulo": 2018, "America/Havana": 2025, "Pacific/Apia": 2011, "Asia/Beirut": 2024, "Africa/Cairo": 2014, "Pacific/Kwajalein": 1993, "Asia/Manila": 1844,
	} {
		loc := zone(t, name)
		for _, p := range []Period{Day, Month} {
			end := time.Date(year, 1, 1, 12, 0, 0, 0, loc)
			_, end = p.Bounds(end, loc)
			for last := time.Date(year+1, 1, 5, 0, 0, 0, 0, time.UTC); end.Before(last); {
				from, to := p.Bounds(end, loc)
				if !from.Equal(end) || !to.After(from) {
					t.Fatalf("%s, %s: after one that ends %v comes one from %v to %v", name, p, end, from, to)
				}
				for _, at := range []time.Time{from.Add(time.Minute), from.Add(90 * time.Minute), to.Add(-time.Hour), to.Add(-time.Nanosecond)} {
					if f, e := p.Bounds(at, loc); !f.Equal(from) || !e.Equal(to) {
						t.Fatalf("%s, %s: %v is of %v to %v, and %v of %v to %v", name, p, from, from, to, at, f, e)
					}
				}
				end = to
			}
		}
	}
}

func TestO30_AnAllowanceBeginsAnew(t *testing.T) {
	a := team
	a.Location = zone(t, "Asia/Tokyo")
	b := newBench(t)
	b.now = time.Date(2026, 3, 1, 14, 59, 59, 999_000_000, time.UTC)
	late := b.reserve(a, usd("3"), Reserved)
	v, err := b.Reserve(t.Context(), []Allowance{a}, Request{Price: usd("3")})
	midnight := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	if err != nil || v.Outcome != Exhausted || !v.Each[0].State.Until.Equal(midnight) {
		t.Errorf("%+v, %v, want one until %v", v, err, midnight)
	}
	b.now = midnight
	b.wants(a, "0")
	b.spends(a, "1")
	b.settle(late, observe("4")) // is of the day on which it was reserved
	b.wants(a, "1")
	b.now = midnight.Add(-time.Millisecond) // a clock that is put back
	b.wants(a, "4")
	a.Period = Month
	b.wants(a, "5")
}
