// What the host gives to a component: wit/typescript.wit.

declare module "mistletoe:package/host@1.0.0" {
  const host: { request(request: string): string };
  export default host;
}
declare module "wasi:random/random@0.2.6" {
  const random: { getRandomBytes(length: number): Uint8Array };
  export default random;
}
