//! A point in the past as typed: `90m`, `12h`, `7d`, `2w`, or a date.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The beginning of a period that ends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SinceArg {
    Ago(SignedDuration),
    At(Timestamp),
}

impl SinceArg {
    /// Returns the point in time; the earliest there is, if the period is longer than time itself.
    pub(crate) fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            SinceArg::Ago(period) => now.checked_sub(period).unwrap_or(Timestamp::MIN),
            SinceArg::At(time) => time,
        }
    }
}

impl std::str::FromStr for SinceArg {
    type Err = String;

    fn from_str(text: &str) -> Result<SinceArg, String> {
        let mut chars = text.chars();
        let unit_seconds = match chars.next_back() {
            Some('m') => 60,
            Some('h') => 3600,
            Some('d') => 24 * 3600,
            Some('w') => 7 * 24 * 3600,
            _ => 0,
        };
        if let (Ok(number), 1..) = (chars.as_str().parse::<u32>(), unit_seconds) {
            return Ok(SinceArg::Ago(SignedDuration::from_secs(i64::from(number) * unit_seconds)));
        }
        let date = || text.parse::<Date>().and_then(|date| date.to_zoned(TimeZone::UTC)).map(|day| day.timestamp());
        text.parse::<Timestamp>()
            .or_else(|_| date())
            .map(SinceArg::At)
            .map_err(|_| "a period such as 90m, 12h, 7d or 2w, or a date such as 2026-11-18, was expected".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_and_dates_are_read() {
        let ago = |hours: i64| Ok(SinceArg::Ago(SignedDuration::from_hours(hours)));
        assert_eq!("12h".parse(), ago(12));
        assert_eq!("7d".parse(), ago(7 * 24));
        assert_eq!("2w".parse(), ago(14 * 24));
        assert_eq!("120m".parse(), ago(2));
        let day = SinceArg::At("2026-11-18T00:00:00Z".parse().unwrap());
        assert_eq!("2026-11-18".parse(), Ok(day));
        assert_eq!("2026-11-18T00:00:00Z".parse(), Ok(day));
        for wrong in ["", "d", "7", "-7d", "7 d", "yesterday", "7ä", "99999999999d"] {
            assert!(wrong.parse::<SinceArg>().is_err(), "{wrong}");
        }
        assert_eq!(SinceArg::Ago(SignedDuration::MAX).resolve(Timestamp::UNIX_EPOCH), Timestamp::MIN);
    }
}
