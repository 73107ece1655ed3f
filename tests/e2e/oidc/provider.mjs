// An OpenID provider for the tests: oidc-provider with its own sign-in pages,
// and a few routes under /test that no provider would have.
//
//   node provider.mjs    prints {"issuer": ...} once it listens
//
// POST /test/rotate    new keys; the old ones are not published any more
// POST /test/sign      {"header", "claims", "key"}: a token as they say, signed
//                      with the "current" key, the one before ("old") or one
//                      that nobody knows ("foreign"); or, for "hmac", with the
//                      public key as the secret; or, for "none", not at all
// GET  /test/keys      what is published, and how often it was asked for
// POST /test/fail      {"fail": true}: 500 for everything but /test
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import * as jose from 'jose';
import Provider from 'oidc-provider';

const people = {
  ann: { email: 'ann@example.org', email_verified: true, groups: ['ops'] },
  bob: { email: 'bob@example.org', email_verified: false, groups: [] },
  eve: { email: 'eve@example.org', email_verified: true, groups: ['ops', 'dev'] },
  sam: { email: 'sam@example.org', email_verified: true, groups: ['ops'] },
};

const server = createServer();
server.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const keys = {};
let count = 0;
let asked = 0;
let fail = false;
let handle;

async function newKey(alg) {
  const options = { extractable: true };
  if (alg === 'EdDSA') options.crv = 'Ed25519';
  const pair = await jose.generateKeyPair(alg, options);
  const jwk = await jose.exportJWK(pair.privateKey);
  return { ...jwk, kid: `${alg}-${++count}`, alg, use: 'sig' };
}

async function rotate() {
  keys.old = keys.current;
  keys.current = await newKey('RS256');
  keys.ES256 = await newKey('ES256');
  keys.EdDSA = await newKey('EdDSA');
  const provider = new Provider(issuer, {
    jwks: { keys: [keys.current, keys.ES256, keys.EdDSA] },
    clients: [{
      client_id: 'muster',
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token',
        'urn:ietf:params:oauth:grant-type:device_code'],
      redirect_uris: ['http://127.0.0.1/callback'],
    }],
    scopes: ['openid', 'offline_access'],
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      groups: ['groups'],
    },
    conformIdTokenClaims: false,
    cookies: { keys: ['only', 'tests'] },
    features: { deviceFlow: { enabled: true }, revocation: { enabled: true } },
    findAccount: (ctx, id) => people[id] && {
      accountId: id,
      claims: () => ({ sub: id, ...people[id] }),
    },
    pkce: { required: () => true },
    ttl: { IdToken: 3600, AccessToken: 3600, RefreshToken: 86400 },
  });
  handle = provider.callback();
}

async function sign({ header = {}, claims, key = 'current' }) {
  const body = { iss: issuer, aud: 'muster', sub: 'ann', ...claims };
  for (const name of Object.keys(body)) if (body[name] === null) delete body[name];
  if (key === 'hmac' || key === 'none') {
    const head = { alg: key === 'hmac' ? 'HS256' : 'none', kid: keys.current.kid, ...header };
    const text = [head, body].map((o) => jose.base64url.encode(JSON.stringify(o))).join('.');
    const open = await jose.exportSPKI(await jose.importJWK(
      { kty: 'RSA', n: keys.current.n, e: keys.current.e }, 'RS256', { extractable: true }));
    const mac = createHmac('sha256', open).update(text).digest('base64url');
    return `${text}.${key === 'hmac' ? mac : ''}`;
  }
  const jwk = key === 'foreign' ? { ...(await newKey('RS256')), kid: keys.current.kid } : keys[key];
  const head = { alg: jwk.alg, kid: jwk.kid, ...header };
  return new jose.SignJWT(body).setProtectedHeader(head)
    .sign(await jose.importJWK(jwk, jwk.alg));
}

async function read(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return parts.length ? JSON.parse(Buffer.concat(parts).toString()) : {};
}

async function test(request) {
  switch (request.url) {
    case '/test/rotate':
      await rotate();
      return {};
    case '/test/sign':
      return { token: await sign(await read(request)) };
    case '/test/keys':
      return { asked, kid: keys.current.kid };
    case '/test/fail':
      ({ fail } = await read(request));
      return {};
    default:
      return null;
  }
}

server.on('request', async (request, response) => {
  if (!request.url.startsWith('/test/')) {
    if (request.url === '/jwks') asked += 1;
    if (fail) response.writeHead(500).end();
    else handle(request, response);
    return;
  }
  try {
    const answer = await test(request);
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
});

await rotate();
console.log(JSON.stringify({ issuer }));
process.stdin.on('end', () => process.exit(0)).resume();
