// From the samples of a run to curves over time.

const MEANS = 120; // Points of a rate: with more, bursts hide its course.

// Samples of all flows share their times: for each flow and column a curve with a place for every time.
export function curves(rows, owner, columns) {
  const times = [...new Set(rows.t_s)].sort((a, b) => a - b);
  const place = new Map(times.map((time, index) => [time, index]));
  const empty = () => new Array(times.length).fill(null);
  const found = new Map();
  for (let row = 0; row < rows.t_s.length; row += 1) {
    const key = rows[owner][row];
    if (!found.has(key)) found.set(key, Object.fromEntries(columns.map((name) => [name, empty()])));
    for (const name of columns) {
      const value = rows[name][row];
      if (!Number.isNaN(value)) found.get(key)[name][place.get(rows.t_s[row])] = value;
    }
  }
  return { times, found };
}

// Means over equal parts of the time, at their middles.
export function means(times, values) {
  const width = Math.max(1, Math.ceil(times.length / MEANS));
  const middles = [];
  const result = values.map(() => []);
  for (let start = 0; start < times.length; start += width) {
    const end = Math.min(start + width, times.length);
    middles.push((times[start] + times[end - 1]) / 2);
    values.forEach((column, index) => {
      const known = column.slice(start, end).filter((value) => value !== null);
      result[index].push(known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null);
    });
  }
  return [middles, ...result];
}

// The times at which a count grew.
export const growth = (times, counts) => times.filter((_, index) => index > 0 && counts[index] > counts[index - 1]);
