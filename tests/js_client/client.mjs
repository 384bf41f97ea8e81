// node client.mjs ENDPOINT HERE BACK: the tree HERE goes into a store and comes back as BACK, by
// AWS's SDK for JavaScript.
//
// Single files go as streams, whose checksum the SDK sends behind them in a trailer, by each
// algorithm in turn; a large one goes in parts. What comes back the SDK checks against the checksum
// that the store gives with it. Ends with 1 where a stream went without a trailer or came without
// its checksum.
import assert from 'node:assert/strict';
import { createReadStream, createWriteStream, mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { GetObjectCommand, PutObjectCommand, S3Client, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';

const [endpoint, here, back] = process.argv.slice(2);
const kPrefix = 'js/';
const kPartBytes = 8 << 20;
const kAtOnce = 16;
const kAlgorithms = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'];

const s3 = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true });
const trailers = new Map(); // how often each was sent
s3.middlewareStack.add(
  (next) => (args) => {
    const trailer = args.request.headers['x-amz-trailer'];
    if (trailer) trailers.set(trailer, (trailers.get(trailer) ?? 0) + 1);
    return next(args);
  },
  { step: 'finalizeRequest', priority: 'low' },
);

async function each(list, work) {
  const rest = list.entries();
  const worker = async () => {
    for (const [number, item] of rest) await work(item, number);
  };
  await Promise.all(Array.from({ length: kAtOnce }, worker));
}

async function send(name, number) {
  const file = path.join(here, name);
  const size = statSync(file).size;
  const what = { Bucket: 'bucket', Key: kPrefix + name, Body: createReadStream(file) };
  if (size > kPartBytes) {
    await new Upload({ client: s3, params: what, partSize: kPartBytes, queueSize: 4 }).done();
    return;
  }
  const ChecksumAlgorithm = kAlgorithms[number % kAlgorithms.length];
  await s3.send(new PutObjectCommand({ ...what, ContentLength: size, ChecksumAlgorithm }));
}

async function fetch_back({ Key, Size }) {
  const got = await s3.send(new GetObjectCommand({ Bucket: 'bucket', Key, ChecksumMode: 'ENABLED' }));
  const checked = kAlgorithms.some((name) => got[`Checksum${name}`]);
  assert.ok(checked || Size > kPartBytes, `${Key} came without its checksum`);
  const file = path.join(back, Key.slice(kPrefix.length));
  mkdirSync(path.dirname(file), { recursive: true });
  await pipeline(got.Body, createWriteStream(file));
}

const entries = readdirSync(here, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const names = entries.map((entry) => path.relative(here, path.join(entry.parentPath ?? entry.path, entry.name)));
await each(names, send);
for (const name of kAlgorithms) {
  assert.ok(trailers.get(`x-amz-checksum-${name.toLowerCase()}`) > 0, `no stream went with a trailer of ${name}`);
}
const found = [];
for await (const page of paginateListObjectsV2({ client: s3, pageSize: 500 }, { Bucket: 'bucket', Prefix: kPrefix })) {
  found.push(...(page.Contents ?? []));
}
assert.equal(found.length, names.length);
await each(found, fetch_back);
