// Numbers as the command line prints them.

/** Return the digits of |x|, rounded half to even to `precision`, and the exponent of the first. */
function digitsOf(x, precision) {
  let [mantissa, exponent] = Math.abs(x).toExponential(precision - 1).split('e');
  const tail = Math.abs(x).toExponential(60).split('e')[0].replace('.', '').slice(precision);
  if (/^50*$/.test(tail)) { // exactly between two: browsers round up, the command line to even
    const kept = Math.abs(x).toExponential(60).split('e')[0].replace('.', '').slice(0, precision);
    if (Number(kept[precision - 1]) % 2 === 0) {
      mantissa = kept;
      exponent = Math.abs(x).toExponential(60).split('e')[1];
    }
  }
  return [mantissa.replace('.', ''), Number(exponent)];
}

/** Six significant digits, or `precision` of them; a dash where there is no number. */
function number(x, precision = 6) {
  if (x === null || x === undefined || Number.isNaN(x)) return '–';
  if (!Number.isFinite(x)) return x > 0 ? 'inf' : '-inf';
  if (x === 0) return '0';
  const [digits, exponent] = digitsOf(x, precision);
  const sign = x < 0 ? '-' : '';
  const strip = (text) => text.replace(/\.?0*$/, '');
  if (exponent < -4 || exponent >= precision) {
    const mantissa = strip(digits[0] + '.' + digits.slice(1));
    const size = String(Math.abs(exponent)).padStart(2, '0');
    return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${size}`;
  }
  if (exponent < 0) return strip(`${sign}0.${'0'.repeat(-exponent - 1)}${digits}`);
  return strip(`${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`);
}

/** A probability in per cent, never 0 or 100 unless it is. */
function percent(p) {
  if (p >= 1) return '100\u00a0%';
  const text = (100 * p).toFixed(p > 0.9995 || p < 0.0005 ? 4 : 2);
  return `${Number(text) >= 100 ? '> 99.9999' : Number(text) === 0 ? '< 0.0001' : text}\u00a0%`;
}

/** Text with the words in their number: plural(1, 'state'), plural(3, 'state'). */
function plural(count, noun) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A row of a policy: "38.49 % right · 61.51 % up". */
function rowText(pairs, names) {
  return pairs.map(([a, p]) => `${percent(p)} ${names.action(a)}`).join(' · ');
}
