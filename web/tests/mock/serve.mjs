// `npm run mock`: the built page with the synthetic server, to look at.
import { startMock } from "./server.mjs";

const { address } = await startMock({ port: 8081 });
console.log(`${address} (synthetic data)`);
