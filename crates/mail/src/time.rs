//! Times as text (RFC 3339, in UTC).

/// Formats milliseconds since 1970 as `2026-11-22T01:02:03.456Z`.
pub fn rfc3339(at: u64) -> String {
    let (days, rest) = (at / 86_400_000, at % 86_400_000);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000)
}

/// Parses RFC 3339 into milliseconds since 1970. A date alone means its midnight, a time without a zone UTC. `None` if the
/// text is invalid or before 1970.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let number = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<i64>().ok()).flatten();
    let date = text.get(..10)?;
    let (year, month, day) = (number(date.get(..4)?)?, number(date.get(5..7)?)?, number(date.get(8..10)?)?);
    let dashes = date.as_bytes()[4] == b'-' && date.as_bytes()[7] == b'-';
    if !dashes || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_from_civil(year, month, day);
    let mut millis = 0;
    let mut rest = &text[10..];
    if !rest.is_empty() {
        let clock = rest.strip_prefix(['T', 't', ' '])?;
        let colon = clock.as_bytes().get(2) == Some(&b':') && clock.as_bytes().get(5) == Some(&b':');
        let (h, m, s) = (number(clock.get(..2)?)?, number(clock.get(3..5)?)?, number(clock.get(6..8)?)?);
        if !colon || h > 23 || m > 59 || s > 60 {
            return None;
        }
        rest = &clock[8..];
        millis = ((h * 60 + m) * 60 + s) * 1000;
        if let Some(fraction) = rest.strip_prefix('.') {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let padded: String = fraction[..digits].chars().chain("000".chars()).take(3).collect();
            millis += number(&padded)?;
            rest = &fraction[digits..];
        }
        millis -= match rest {
            "" | "Z" | "z" => 0,
            zone => {
                let sign = if zone.starts_with('-') { -1 } else { 1 };
                let zone = zone.strip_prefix(['+', '-'])?;
                let (h, m) = (number(zone.get(..2)?)?, number(zone.get(2..)?.trim_start_matches(':'))?);
                sign * (h * 60 + m) * 60_000
            }
        };
    }
    u64::try_from(days * 86_400_000 + millis).ok()
}

/// Returns the date of a day since 1970 in the proleptic Gregorian calendar: eras of 400 years, counted from March.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Returns the days since 1970 of a date; the inverse of [`civil`].
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (at, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_827_696_789, "2000-02-29T12:34:56.789Z"),
            (1_795_309_323_004, "2026-11-22T01:02:03.004Z"),
        ] {
            assert_eq!(rfc3339(at), text);
            assert_eq!(parse(text), Some(at));
        }
        assert_eq!(parse("2026-11-22T03:02:03.0049+02:00"), Some(1_795_309_323_004));
        assert_eq!(parse("2026-11-22"), Some(1_795_305_600_000));
        for wrong in
            ["", "soon", "2026-13-01", "2026-11-22X01:02:03Z", "2026-11-22T25:02:03Z", "1969-12-31", "2026-11-2é"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
