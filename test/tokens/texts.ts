/** Texts of the kinds that prompts are made of. */
export const ENGLISH = `The reservoir behind the dam fills slowly in autumn. When the first heavy rain comes, the keepers open the gates a little,
and the water finds its own way around the wall. Nobody in the town below notices anything. That is the whole point: a
good spillway does its work without being seen, and only an engineer who reads the gauges every morning could say how much
of last night's storm went over it. "We don't fight the river," the old keeper used to say, "we give it somewhere to go."
His daughter, who had studied hydraulics in another country, disagreed with most of his methods but never with that sentence.
She installed sensors, wrote a small program that predicted the inflow for the next six hours, and published the figures so
that farmers downstream could plan their irrigation. Within two years, complaints about flooding had fallen by almost 80%.`;

export const CHINESE = `水库的大坝在秋天慢慢蓄满。第一场大雨来临时，管理员会把闸门打开一点，让水从旁边流过去。下游小镇里的人什么也没有注意到，这正是它的意义所在：
一个好的溢洪道在不被人看见的情况下完成自己的工作，只有每天早上查看水位的工程师才知道，昨天夜里的暴雨有多少从这里流走了。老管理员常说：“我们不和河流对抗，我们只是给它一条出路。”
他的女儿在国外学习水利工程，对他的大多数做法都不同意，但从来没有反对过这句话。她安装了传感器，写了一个小程序来预测未来六个小时的来水量，并且把数据公开，让下游的农民可以安排灌溉。
两年之内，关于洪水的投诉减少了将近百分之八十。后来有记者来采访，问她为什么要做这些事情，她想了一会儿，回答说：因为父亲说得对，水总是要往低处走的，我们能做的只是让它走得安稳一些。`;

export const JSON_TEXT = JSON.stringify(
  {
    reservoirs: [
      {
        id: 'r-1042',
        name: 'North Lake',
        capacityMegalitres: 18_250.5,
        isOpen: true,
        gates: [0.25, 0.25, 0.4],
        updatedAt: '2026-03-14T08:15:00Z',
      },
      {
        id: 'r-1043',
        name: 'Mill Pond',
        capacityMegalitres: 92,
        isOpen: false,
        gates: [],
        updatedAt: '2026-03-13T22:40:11Z',
        note: null,
      },
    ],
    query: { region: 'upper valley', include: ['gates', 'inflow_forecast'], page: 3, pageSize: 50 },
    warnings: ['Sensor 7 has not reported for 36 hours.', "Forecast is based on yesterday's data."],
    next: 'https://api.example.com/v2/reservoirs?region=upper-valley&page=4',
  },
  null,
  2,
);

export const CODE = `export async function releaseWater(gate: Gate, litresPerSecond: number): Promise<Release> {
  if (!Number.isFinite(litresPerSecond) || litresPerSecond < 0) throw new RangeError('litresPerSecond must not be negative');
  const startedAtMs = clock.now();
  for (const sensor of gate.sensors) {
    const level = await sensor.read({ timeoutMs: 250 });
    if (level > gate.maximumLevel * 0.95) return { kind: 'refused', reason: 'too-high', level };
  }
  // The motor moves in steps of one degree; more would shake the frame.
  while (gate.angle < angleFor(litresPerSecond)) await gate.motor.step(+1);
  return { kind: 'released', litres: litresPerSecond * ((clock.now() - startedAtMs) / 1_000) };
}
`;
