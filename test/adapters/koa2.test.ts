import Koa2 from 'koa2';
import { adapterConformance } from '../conformance/adapter.js';
import { koaApp, oldParser } from '../support/koa-app.js';
import { koaCases } from './koa-cases.js';

adapterConformance('Koa 2', koaApp(Koa2, oldParser));
koaCases('Koa 2', Koa2, { web: false });
